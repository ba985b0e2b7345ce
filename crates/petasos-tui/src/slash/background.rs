//! `/background`: a task beside the conversation.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "background",
    aliases: &["bg", "btw"],
    usage: "[task | stop N]",
    about: "Let the agent do something beside this conversation; lists what runs",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    if words.is_empty() {
        let running = chat.asides.listed();
        let text = running.join("\n");
        chat.tell(if text.is_empty() {
            "no background task; `/background TASK` begins one"
        } else {
            &text
        });
        return Ok(Next::Done);
    }
    if let Some(number) = words.strip_prefix("stop ").and_then(|word| word.trim().parse().ok()) {
        if !chat.asides.stop(number) {
            return Err(format!("no background task has the number {number}"));
        }
        chat.remark(&format!("background task {number} is stopped"));
        return Ok(Next::Done);
    }
    let (number, session) = chat.begin_aside(words).await?;
    chat.remark(&format!("⚑ background task {number} works in {session}; you hear of its end"));
    Ok(Next::Done)
}
