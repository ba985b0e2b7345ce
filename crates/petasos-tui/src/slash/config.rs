//! `/config`: values and where they come from.

use crate::backstage::Page;
use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "config",
    aliases: &["settings"],
    usage: "[key]",
    about: "Show the configuration",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let text = chat.backstage.page(Page::Config, words, &chat.choice).await?;
    chat.tell(&text);
    Ok(Next::Done)
}
