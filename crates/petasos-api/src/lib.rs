//! Sessions over HTTP: the interfaces that OpenAI's clients speak, runs, and webhooks.
