//! `/redraw`: for screens that something else wrote on.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "redraw",
    aliases: &[],
    usage: "",
    about: "Draw the screen anew",
    run: |chat, words| Box::pin(std::future::ready(Ok(run(chat, words)))),
};

fn run(chat: &mut Chat, _words: &str) -> Next {
    chat.screen.clear();
    Next::Done
}
