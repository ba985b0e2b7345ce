//! `/provider`: the resolver's own reasons.

use crate::backstage::Page;
use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "provider",
    aliases: &["whoami"],
    usage: "",
    about: "Show who answers and why",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let text = chat.backstage.page(Page::Provider, words, &chat.choice).await?;
    chat.tell(&text);
    Ok(Next::Done)
}
