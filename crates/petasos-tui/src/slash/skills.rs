//! `/skills`: what the agent knows how to do.

use std::fmt::Write as _;

use petasos_agent::skills;

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "skills",
    aliases: &[],
    usage: "[part of a name]",
    about: "List the skills of this home",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let folder = chat.choice.settings.home().join("skills");
    let mut text = String::new();
    for skill in skills::listed(&folder).await {
        if skill.name.contains(words) {
            writeln!(text, "- **{}** {}", skill.name, skill.about).unwrap_or_default();
        }
    }
    if text.is_empty() {
        text = format!("no such skill in `{}`", folder.display());
    }
    chat.tell(&text);
    Ok(Next::Done)
}
