//! `/steer`: words for the running turn, behind the next results.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "steer",
    aliases: &["tell"],
    usage: "<words>",
    about: "Tell the agent something while it works",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    if words.is_empty() {
        return Err("say what the agent should know: /steer <words>".to_owned());
    }
    chat.steer(words);
    Ok(Next::Done)
}
