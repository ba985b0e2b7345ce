//! `/models`: what the provider offers.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::services::Topic;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "models",
    aliases: &[],
    usage: "[part of a name]",
    about: "List the models of the provider",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let text = live.services().describe(Topic::Models, words, &live.choice).await?;
    Ok(CommandOutcome::markdown(text))
}
