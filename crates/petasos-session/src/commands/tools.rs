//! `/tools`: what the model can call.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::services::Topic;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "tools",
    aliases: &[],
    usage: "[part of a name]",
    about: "List the tools of this conversation",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let text = live.services().describe(Topic::Tools, words, &live.choice).await?;
    Ok(CommandOutcome::markdown(text))
}
