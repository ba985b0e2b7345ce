//! `/new`: the next message begins a new conversation.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "new",
    aliases: &["reset", "clear"],
    usage: "",
    about: "Begin a new conversation",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    chat.quiet()?;
    chat.forget().await;
    chat.remark("a new conversation begins with your next message; /sessions lists the others");
    Ok(Next::Done)
}
