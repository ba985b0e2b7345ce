//! `/version`: which program this is.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "version",
    aliases: &[],
    usage: "",
    about: "Show the version",
    run: |chat, words| Box::pin(std::future::ready(Ok(run(chat, words)))),
};

fn run(chat: &mut Chat, _words: &str) -> Next {
    chat.tell(concat!("petasos ", env!("CARGO_PKG_VERSION")));
    Next::Done
}
