//! `/usage`: tokens, cache and cost of this conversation.

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "usage",
    aliases: &["cost", "insights"],
    usage: "",
    about: "Show what this conversation used",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    let Some(head) = chat.head().await? else {
        chat.tell("nothing has been said yet");
        return Ok(Next::Done);
    };
    let used = head.usage;
    let hit = (used.cache_read * 100).checked_div(used.prompt()).unwrap_or_default();
    let window = chat.choice.window();
    chat.tell(&format!(
        "| | |\n|---|---|\n| requests | {} |\n| tokens read | {} ({hit} % from the cache) |\n\
         | tokens written | {} ({} of them reasoning) |\n| cost | ${:.4}, as far as it is known |\n\
         | messages | {} |\n| window | {window} tokens |\n",
        used.requests,
        used.prompt(),
        used.output,
        used.reasoning,
        head.cost_usd,
        head.messages,
    ));
    Ok(Next::Done)
}
