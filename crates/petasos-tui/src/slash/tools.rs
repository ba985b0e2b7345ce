//! `/tools`: what the model is offered, and why the rest is not.

use crate::backstage::Page;
use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "tools",
    aliases: &[],
    usage: "[part of a name]",
    about: "List the tools of this conversation",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let text = chat.backstage.page(Page::Tools, words, &chat.choice).await?;
    chat.tell(&text);
    Ok(Next::Done)
}
