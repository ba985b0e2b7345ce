//! `/queue`: a message that waits for the end of the turn.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "queue",
    aliases: &["next"],
    usage: "<words>",
    about: "Say something when the agent is done",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    if words.is_empty() {
        let waiting: Vec<String> = chat.queue.iter().map(|it| format!("- {it}\n")).collect();
        chat.tell(if waiting.is_empty() { "nothing waits" } else { "waiting:" });
        chat.tell(&waiting.concat());
        return Ok(Next::Done);
    }
    chat.queue.push_back(words.to_owned());
    chat.remark(&format!("⏳ next: {words}"));
    Ok(Next::Done)
}
