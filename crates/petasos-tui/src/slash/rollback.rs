//! `/rollback`: the checkpoints of the workspace.

use petasos_session::OfferKind;

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "rollback",
    aliases: &["checkpoint", "checkpoints"],
    usage: "[number [yes]]",
    about: "Restore the files of a checkpoint",
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    Ok(Some(chat.pick_or_ask("rollback", words, "Checkpoint", OfferKind::Checkpoints)))
}
