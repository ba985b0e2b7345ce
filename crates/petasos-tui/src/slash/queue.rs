//! `/queue`: a message that waits for the end of the turn.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "queue",
    aliases: &["next"],
    usage: "<words>",
    about: "Say something when the agent is done",
    run: |chat, words| Box::pin(std::future::ready(Ok(run(chat, words)))),
};

fn run(chat: &mut Chat, words: &str) -> Next {
    if words.is_empty() {
        let waiting: Vec<String> = chat.queue.iter().map(|it| format!("- {it}\n")).collect();
        chat.tell(if waiting.is_empty() { "nothing waits" } else { "waiting:" });
        chat.tell(&waiting.concat());
        return Next::Done;
    }
    chat.queue.push_back(words.to_owned());
    chat.remark(&format!("⏳ next: {words}"));
    Next::Done
}
