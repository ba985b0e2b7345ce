//! `/memory`: the notes that every new conversation begins with.

use petasos_agent::memory::{Memory, MemoryError, Target};

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "memory",
    aliases: &["notes"],
    usage: "[pending | approve ID | reject ID]",
    about: "Show what the agent remembers; decide notes that wait for you",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let memory = Memory::of(&live.choice.settings, live.choice.notes.as_deref());
    if let Some(decided) = decided(&memory, words) {
        return decided.map(CommandOutcome::markdown);
    }
    let mut text = String::new();
    for (target, heading) in [(Target::Memory, "Its notes"), (Target::User, "About you")] {
        let entries = memory.entries(target).map_err(|error| error.to_string())?;
        let lines: Vec<String> = entries.iter().map(|entry| format!("- {entry}")).collect();
        let lines = if lines.is_empty() { "nothing yet".to_owned() } else { lines.join("\n") };
        text = format!("{text}**{heading}**\n\n{lines}\n\n");
    }
    let waiting = memory.waiting().len();
    if waiting > 0 {
        text = format!("{text}{waiting} waiting: `/memory pending`\n");
    }
    Ok(CommandOutcome::markdown(text))
}

/// What waits for a person, and deciding it.
fn decided(memory: &Memory, words: &str) -> Option<Result<String, String>> {
    let (verb, id) = words.trim().split_once(' ').unwrap_or((words.trim(), ""));
    let said = |error: MemoryError| error.to_string();
    Some(match verb {
        "" => return None,
        "pending" => {
            let lines: Vec<String> =
                memory.waiting().iter().map(|one| format!("- {}", one.line())).collect();
            Ok(if lines.is_empty() {
                "No note waits.".to_owned()
            } else {
                format!(
                    "{}\n\n`/memory approve ID` keeps one, `/memory reject ID` drops it.",
                    lines.join("\n")
                )
            })
        }
        "approve" => memory
            .approve(id.trim())
            .map(|(one, _)| format!("Remembered, with where it is from: {}", one.line()))
            .map_err(said),
        "reject" => {
            memory.reject(id.trim()).map(|one| format!("Dropped: {}", one.line())).map_err(said)
        }
        other => Err(format!("`{other}` is not known here: pending, approve ID or reject ID")),
    })
}
