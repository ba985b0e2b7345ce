//! `/reasoning`: showing it, and how much of it.

use petasos_contract::model::Effort;

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "reasoning",
    aliases: &["think"],
    usage: "[show|hide|off|minimal|low|medium|high|xhigh|max]",
    about: "Show what the model thinks, or how hard it should",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    match words {
        "" | "show" | "hide" | "on" => {
            chat.view.reasoning = super::verbose::switched(words, chat.view.reasoning)?;
            let shown = if chat.view.reasoning { "shown" } else { "not shown" };
            chat.remark(&format!("what the model thinks is {shown}"));
        }
        level => {
            let effort = serde_json::from_value(serde_json::Value::from(level));
            let effort: Effort =
                effort.map_err(|_| format!("`{level}` is no level: {}", SLASH.usage))?;
            chat.quiet()?;
            chat.choice.effort = Some(effort);
            if let Some(agent) = chat.quiet()? {
                agent.choice_mut().effort = Some(effort);
            }
            chat.remark(&format!("the model is asked to think: {level}"));
        }
    }
    Ok(Next::Done)
}
