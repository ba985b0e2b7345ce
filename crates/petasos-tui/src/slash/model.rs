//! `/model`: a list to choose from; with a name the session's own command.

use petasos_session::OfferKind;

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "model",
    aliases: &[],
    usage: "[name] [--provider P] [--session|--once|--global]",
    about: "Show or change the model",
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    Ok(Some(chat.pick_or_ask("model", words, "Model", OfferKind::Models)))
}
