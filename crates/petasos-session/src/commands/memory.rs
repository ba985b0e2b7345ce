//! `/memory`: the notes that every new conversation begins with.

use petasos_agent::memory::{Memory, Target};

use crate::command::{CommandOutcome, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "memory",
    aliases: &["notes"],
    usage: "",
    about: "Show what the agent remembers of earlier conversations and of you",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    let memory = Memory::of(&live.choice.settings, live.choice.notes.as_deref());
    let mut text = String::new();
    for (target, heading) in [(Target::Memory, "Its notes"), (Target::User, "About you")] {
        let entries = memory.entries(target).map_err(|error| error.to_string())?;
        let lines: Vec<String> = entries.iter().map(|entry| format!("- {entry}")).collect();
        let lines = if lines.is_empty() { "nothing yet".to_owned() } else { lines.join("\n") };
        text = format!("{text}**{heading}**\n\n{lines}\n\n");
    }
    Ok(CommandOutcome::markdown(text))
}
