//! `/title`: what this conversation is called.

use petasos_contract::store::Amend;

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "title",
    aliases: &["rename"],
    usage: "[title]",
    about: "Show or set the title",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    if words.is_empty() {
        let head = chat.head().await?;
        let title = head.and_then(|head| head.title).unwrap_or_else(|| "(no title)".to_owned());
        chat.tell(&title);
        return Ok(Next::Done);
    }
    let agent = chat.begun()?;
    let set = agent.transcript().amend(Amend::Title(Some(words.to_owned()))).await;
    set.map_err(|error| error.to_string())?;
    chat.remark(&format!("called: {words}"));
    Ok(Next::Done)
}
