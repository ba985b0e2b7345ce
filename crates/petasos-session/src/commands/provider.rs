//! `/provider`: who answers, and why.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::services::Topic;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "provider",
    aliases: &[],
    usage: "",
    about: "Show which provider answers, and why",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let text = live.services().describe(Topic::Provider, words, &live.choice).await?;
    Ok(CommandOutcome::markdown(text))
}
