//! `/approve`: agrees to the question that is open.

use crate::command::{CommandOutcome, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "approve",
    aliases: &["yes"],
    usage: "[once|session|always]",
    about: "Allow what is being asked about",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    answer(live, if words.is_empty() { "once" } else { words })
}

/// Answers the open question in the words of its choices.
pub(super) fn answer(live: &LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let desk = &live.shared.desk;
    let question = desk.open().ok_or("nothing waits for approval")?;
    let reply = question.read(words)?;
    desk.answer(question.id, reply).map_err(|error| error.to_string())?;
    Ok(CommandOutcome::default())
}
