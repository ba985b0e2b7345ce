//! `/toolsets`: the bundles, and choosing among them.

use crate::backstage::Page;
use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "toolsets",
    aliases: &[],
    usage: "[name,name,…|default]",
    about: "Show or choose toolsets",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    if words.is_empty() {
        let text = chat.backstage.page(Page::Toolsets, "", &chat.choice).await?;
        chat.tell(&text);
        return Ok(Next::Done);
    }
    chat.quiet()?;
    chat.choice.selection.enabled = match words {
        "default" => chat.chosen_at_first.clone(),
        names => Some(
            names.split([',', ' ']).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        ),
    };
    let selection = chat.choice.selection.clone();
    if let Some(agent) = chat.quiet()? {
        agent.choice_mut().selection = selection;
        chat.remark("the provider's cache of this conversation starts anew with other tools");
    }
    chat.remark(&format!("toolsets from the next turn on: {words}"));
    Ok(Next::Done)
}
