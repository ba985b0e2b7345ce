//! `/providers`: which ones can be used.

use crate::backstage::Page;
use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "providers",
    aliases: &[],
    usage: "",
    about: "List the providers",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let text = chat.backstage.page(Page::Providers, words, &chat.choice).await?;
    chat.tell(&text);
    Ok(Next::Done)
}
