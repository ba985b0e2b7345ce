//! `/retry`: the last message once more.

use crate::command::{AfterCommand, CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "retry",
    aliases: &["again"],
    usage: "",
    about: "Send the last message again",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    let message = super::undo::take_back(live, 1).await?;
    let first = message.lines().next().unwrap_or_default();
    let outcome = CommandOutcome::note(format!("Retrying: {first}"));
    Ok(outcome.then(AfterCommand::Submit(message)))
}
