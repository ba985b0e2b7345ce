//! `/config`: values and where they come from.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::services::Topic;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "config",
    aliases: &["settings"],
    usage: "[key]",
    about: "Show the configuration",
    class: CommandClass::Admin,
    mid_run: MidRun::Now,
    places: "c",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let text = live.services().describe(Topic::Config, words, &live.choice).await?;
    Ok(CommandOutcome::markdown(text))
}
