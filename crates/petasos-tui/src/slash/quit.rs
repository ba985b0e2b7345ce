//! `/quit`: leaves.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "quit",
    aliases: &["exit", "q"],
    usage: "",
    about: "Leave; the conversation is kept",
    run: |chat, words| Box::pin(std::future::ready(Ok(run(chat, words)))),
};

fn run(chat: &mut Chat, _words: &str) -> Next {
    chat.remark("bye");
    Next::Quit
}
