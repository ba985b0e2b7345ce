//! `/footer`: facts below each reply.

use petasos_session::command::switched;

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "footer",
    aliases: &["statusbar"],
    usage: "[on|off]",
    about: "Show tokens and cost below replies",
    run,
};

fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    chat.footer = switched(words, chat.footer)?;
    chat.note(if chat.footer { "facts below replies" } else { "no facts below replies" });
    Ok(None)
}
