//! `/reasoning`: shows what the model thinks; how hard it thinks is up to the session.

use petasos_session::command::switched;

use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "reasoning",
    aliases: &["think"],
    usage: "[show|hide|off|minimal|low|medium|high|xhigh|max]",
    about: "Show the model's reasoning, or set its effort",
    run,
};

fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    if !matches!(words, "" | "show" | "hide" | "on") {
        return Ok(Some(chat.ask(&format!("/reasoning {words}"))));
    }
    chat.view.parts.reasoning = switched(words, chat.view.parts.reasoning)?;
    let shown = if chat.view.parts.reasoning { "shown" } else { "not shown" };
    chat.note(&format!("what the model thinks is {shown}"));
    Ok(None)
}
