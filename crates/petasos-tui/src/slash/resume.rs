//! `/resume`: other conversations, those of this folder first.

use petasos_session::OfferKind;

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "resume",
    aliases: &["continue"],
    usage: "[id, title or beginning]",
    about: "Resume another conversation",
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    Ok(Some(chat.pick_or_ask("resume", words, "Conversation", OfferKind::Sessions)))
}
