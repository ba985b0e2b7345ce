//! `/approve`: agrees to the question that is open.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::question::Answerer;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "approve",
    aliases: &["yes"],
    usage: "[once|session|always]",
    about: "Approve the open question",
    class: CommandClass::Everybody,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    answer(live, if words.is_empty() { "once" } else { words }).await
}

/// Answers the open question in the words of its choices.
pub(super) async fn answer(live: &LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let (desk, keeping) = (&live.shared.desk, live.parts.questions.keeping());
    let question = desk.open().ok_or("nothing waits for approval")?;
    let reply = question.read(words)?;
    let answered = desk.answer(&question.id, reply, &Answerer::here(), keeping).await;
    answered.map_err(|error| error.to_string())?;
    Ok(CommandOutcome::default())
}
