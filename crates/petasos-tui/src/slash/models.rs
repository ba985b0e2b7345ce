//! `/models`: what the provider offers.

use crate::backstage::Page;
use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "models",
    aliases: &[],
    usage: "[part of a name]",
    about: "List the models of the provider",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let text = chat.backstage.page(Page::Models, words, &chat.choice).await?;
    chat.tell(&text);
    Ok(Next::Done)
}
