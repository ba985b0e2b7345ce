//! `/footer`: facts below each reply.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "footer",
    aliases: &["statusbar"],
    usage: "[on|off]",
    about: "Show tokens and cost below replies",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    chat.footer = super::verbose::switched(words, chat.footer)?;
    chat.remark(if chat.footer { "facts below replies" } else { "no facts below replies" });
    Ok(Next::Done)
}
