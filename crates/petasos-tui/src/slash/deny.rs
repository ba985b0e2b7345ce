//! `/deny`: answers an open question of approval; the chat translates it before it gets here.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "deny",
    aliases: &["no"],
    usage: "[why]",
    about: "Refuse what is being asked about",
    run: |chat, words| Box::pin(std::future::ready(Ok(run(chat, words)))),
};

fn run(chat: &mut Chat, _words: &str) -> Next {
    chat.remark("nothing waits for approval");
    Next::Done
}
