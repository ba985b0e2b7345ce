//! `/voice`: the person speaks, and what was heard stands in the line, to be sent or changed.

use std::sync::Arc;

use crate::chat::Done;
use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "voice",
    aliases: &[],
    usage: "[SECONDS]",
    about: "Speak instead of typing, where there is a microphone",
    run,
};

fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    let seconds = match words.trim() {
        "" => None,
        number => Some(number.parse().map_err(|_| format!("`{number}` is no number of seconds"))?),
    };
    let ears = Arc::clone(&chat.ears);
    chat.note("🎙 speak now");
    Ok(Some(Box::pin(async move { Done::Spoken(ears(seconds).await) })))
}
