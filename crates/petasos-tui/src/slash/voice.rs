//! `/voice`: the person speaks, and what was heard stands in the line, to be sent or changed. In
//! voice mode it is sent at once, the answer is said, and the person is listened to again.

use std::sync::Arc;

use crate::chat::Done;
use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "voice",
    aliases: &[],
    usage: "[SECONDS|on|off]",
    about: "Speak instead of typing, where there is a microphone",
    run,
};

fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    let seconds = match words.trim() {
        "off" => {
            chat.speaks = false;
            chat.note("🎙 voice mode is off");
            return Ok(None);
        }
        "on" => {
            chat.speaks = true;
            None
        }
        "" => None,
        number => Some(number.parse().map_err(|_| format!("`{number}` is no number of seconds"))?),
    };
    let ears = Arc::clone(&chat.ears);
    chat.note(if chat.speaks {
        "🎙 voice mode: speak now; /voice off ends it"
    } else {
        "🎙 speak now"
    });
    Ok(Some(Box::pin(async move { Done::Spoken(ears(seconds).await) })))
}
