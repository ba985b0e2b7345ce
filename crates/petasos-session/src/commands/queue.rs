//! `/queue`: something for later, and not after all.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::{Asked, LiveSession, Queued};

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "queue",
    aliases: &["next"],
    usage: "[words|drop [number|all]]",
    about: "Queue a message for when the agent is done, or take one back",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    match words.split_whitespace().collect::<Vec<_>>().as_slice() {
        [] => Ok(CommandOutcome::markdown(listed(live))),
        ["drop"] => dropped(live, live.queue.len()),
        ["drop", "all"] => {
            let mut count = 0_usize;
            while live.take_back(|_| true).is_some() {
                count += 1;
            }
            let s = if count == 1 { "" } else { "s" };
            Ok(CommandOutcome::note(format!("↩ took back {count} message{s}")))
        }
        ["drop", number] if number.parse::<usize>().is_ok() => {
            dropped(live, number.parse().unwrap_or_default())
        }
        _ => {
            let queued = live.accept(Asked::Say(words.into()));
            live.queue.push_back(queued);
            Ok(CommandOutcome::note(format!("⏳ next: {words}")))
        }
    }
}

fn listed(live: &LiveSession) -> String {
    if live.queue.is_empty() {
        return "no message waits".to_owned();
    }
    let row = |(at, text): (usize, String)| {
        format!("{}. {}", at + 1, text.lines().next().unwrap_or_default())
    };
    let rows: Vec<String> = live.queue.iter().map(Queued::text).enumerate().map(row).collect();
    format!("{}\n\n`/queue drop NUMBER` takes one back.", rows.join("\n"))
}

/// Takes back the message with this number, counted from one.
fn dropped(live: &mut LiveSession, number: usize) -> Result<CommandOutcome, String> {
    let none = || format!("no message {number} waits; /queue lists them");
    if live.queue.is_empty() {
        return Err("no message waits".to_owned());
    }
    let id = number.checked_sub(1).and_then(|at| live.queue.get(at)).ok_or_else(none)?.id;
    let text = live.take_back(|queued| queued.id == id).ok_or_else(none)?;
    let first = text.lines().next().unwrap_or_default();
    Ok(CommandOutcome::note(format!("↩ took back: {first}")))
}
