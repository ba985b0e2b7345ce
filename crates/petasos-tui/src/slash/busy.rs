//! `/busy`: what typing during a turn means.

use crate::chat::Busy;
use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "busy",
    aliases: &[],
    usage: "[interrupt|queue|steer]",
    about: "What a message does while the agent works",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    if !words.is_empty() {
        let known = Busy::named(words);
        chat.busy = known.ok_or_else(|| format!("`{words}` is none of {}", SLASH.usage))?;
    }
    let told = match chat.busy {
        Busy::Interrupt => "a message stops the turn and begins the next one",
        Busy::Queue => "a message waits for the end of the turn",
        Busy::Steer => "a message is read by the model behind the next results",
    };
    chat.remark(&format!("{}: {told}", chat.busy.name()));
    Ok(Next::Done)
}
