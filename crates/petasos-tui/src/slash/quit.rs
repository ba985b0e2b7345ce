//! `/quit`: leaves.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "quit",
    aliases: &["exit", "q"],
    usage: "",
    about: "Leave; the conversation is kept",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    chat.remark("bye");
    Ok(Next::Quit)
}
