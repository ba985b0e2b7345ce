//! `/undo`: the exchanges of this conversation, to go back before one of them.

use petasos_session::OfferKind;

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "undo",
    aliases: &["rewind"],
    usage: "[number] [now]",
    about: "Remove the last exchange, or go back further",
    run,
};

#[expect(clippy::unnecessary_wraps, reason = "every command has one shape")]
fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    if !chat.asks_before_loss() {
        return Ok(Some(chat.ask(format!("/undo {words}").trim_end())));
    }
    let title = "Go back before";
    Ok(Some(chat.pick_or_ask("undo", words, title, OfferKind::Exchanges)))
}
