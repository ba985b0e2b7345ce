//! `/retry`: takes back the last exchange and says the same again.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "retry",
    aliases: &["again"],
    usage: "",
    about: "Say the last message again",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    let said = super::undo::take_back(chat).await?;
    chat.remark(&format!("again: {}", said.lines().next().unwrap_or_default()));
    Ok(Next::Say(said))
}
