//! `/save`: the conversation as Markdown or JSON lines.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "save",
    aliases: &["export"],
    usage: "[file.md|file.jsonl]",
    about: "Write the conversation to a file",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let session = chat.begun()?.session().clone();
    let file = if words.is_empty() { format!("{session}.md") } else { words.to_owned() };
    let done = chat.backstage.save(&session, &file).await?;
    chat.remark(&done);
    Ok(Next::Done)
}
