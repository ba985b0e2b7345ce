//! `/quit`: leaves the chat.

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "quit",
    aliases: &["exit", "q"],
    usage: "",
    about: "Leave; the conversation is kept",
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(chat: &mut Chat, _words: &str) -> Result<Option<Doing>, String> {
    chat.note("bye");
    chat.leave();
    Ok(None)
}
