//! The interactive chat: composer, streamed Markdown, approval prompt, slash commands.
