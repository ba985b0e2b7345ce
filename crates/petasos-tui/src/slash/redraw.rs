//! `/redraw`: a clean screen.

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash =
    Slash { name: "redraw", aliases: &[], usage: "", about: "Redraw the screen", run };

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(chat: &mut Chat, _words: &str) -> Result<Option<Doing>, String> {
    chat.screen.clear();
    Ok(None)
}
