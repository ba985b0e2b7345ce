//! `/memory`: the notes that every new conversation begins with.

use petasos_agent::memory::{Memory, Target};

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "memory",
    aliases: &["notes"],
    usage: "",
    about: "Show what the agent remembers of earlier conversations and of you",
    run: |chat, words| Box::pin(std::future::ready(run(chat, words))),
};

fn run(chat: &mut Chat, _words: &str) -> Result<Next, String> {
    let memory = Memory::of(&chat.choice.settings);
    let mut text = String::new();
    for (target, heading) in [(Target::Memory, "Its notes"), (Target::User, "About you")] {
        let entries = memory.entries(target).map_err(|error| error.to_string())?;
        let lines: Vec<String> = entries.iter().map(|entry| format!("- {entry}")).collect();
        let lines = if lines.is_empty() { "nothing yet".to_owned() } else { lines.join("\n") };
        text = format!("{text}**{heading}**\n\n{lines}\n\n");
    }
    chat.tell(&text);
    Ok(Next::Done)
}
