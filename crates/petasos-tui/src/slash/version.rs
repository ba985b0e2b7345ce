//! `/version`: which program this is.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "version",
    aliases: &[],
    usage: "",
    about: "Show the version",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    chat.tell(concat!("petasos ", env!("CARGO_PKG_VERSION")));
    Ok(Next::Done)
}
