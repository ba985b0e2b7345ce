//! `/busy`: what typing during a turn means.

use petasos_session::WhenBusy;

use crate::chat::busy;
use crate::chat::{Chat, Doing};
use crate::command::Slash;

pub(super) static SLASH: Slash = Slash {
    name: "busy",
    aliases: &[],
    usage: "[interrupt|queue|steer]",
    about: "Set what a message does while the agent works",
    run,
};

fn run(chat: &mut Chat, words: &str) -> Result<Option<Doing>, String> {
    if !words.is_empty() {
        let known = busy::named(words);
        chat.busy = known.ok_or_else(|| format!("`{words}` is none of {}", SLASH.usage))?;
    }
    let meaning = match chat.busy {
        WhenBusy::Interrupt => "a message stops the turn and begins the next one",
        WhenBusy::Queue => "a message waits for the end of the turn",
        WhenBusy::Steer => "a message is read by the model behind the next results",
        WhenBusy::Refuse => "a message is refused",
    };
    chat.note(&format!("{}: {meaning}", busy::name(chat.busy)));
    Ok(None)
}
