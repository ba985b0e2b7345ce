//! `/rollback`: copies that were made before changes, and the way back.

use crate::backstage::Page;
use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "rollback",
    aliases: &["checkpoint", "checkpoints"],
    usage: "[number [yes]]",
    about: "List copies of the workspace, or go back to one",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    if words.is_empty() {
        let text = chat.backstage.page(Page::Checkpoints, "", &chat.choice).await?;
        chat.tell(&text);
        return Ok(Next::Done);
    }
    chat.quiet()?;
    let session = chat.agent.as_ref().map(|agent| agent.session().clone());
    let cx = chat.backstage.context(&session.unwrap_or_else(|| "chat".into()));
    let done = chat.backstage.roll_back(words, &cx).await?;
    chat.tell(&done);
    Ok(Next::Done)
}
