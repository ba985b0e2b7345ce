//! `/personality`: how the agent speaks.

use std::fmt::Write as _;

use petasos_agent::personality;

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "personality",
    aliases: &[],
    usage: "[name|none]",
    about: "Choose how the agent speaks, or list the ways",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let begun = chat.quiet()?.is_some();
    let settings = &chat.choice.settings;
    if words.is_empty() {
        let mut text = String::new();
        for (name, about) in personality::all(settings) {
            writeln!(text, "- `{name}` {}", about.lines().next().unwrap_or_default())
                .unwrap_or_default();
        }
        text.push_str("\n`/personality NAME` chooses one, `none` goes back.");
        chat.tell(&text);
        return Ok(Next::Done);
    }
    let chosen =
        match words {
            "none" | "default" => None,
            name => Some(personality::named(name, settings).ok_or_else(|| {
                format!("no personality is named `{name}`: /personality lists them")
            })?),
        };
    if begun {
        // The prompt of a conversation stays the same bytes; this is said once, behind it.
        let note = chosen.as_deref().unwrap_or("Speak again as you did at the beginning.");
        chat.context.push(format!("[From now on: {note}]"));
    }
    chat.choice.addition = chosen;
    chat.remark(&format!("personality: {words}, from your next message on"));
    Ok(Next::Done)
}
