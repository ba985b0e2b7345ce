//! `/providers`: who could answer.

use crate::command::{CommandOutcome, SlashCommand};
use crate::live::LiveSession;
use crate::services::Topic;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "providers",
    aliases: &[],
    usage: "",
    about: "List the providers",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let text = live.services().describe(Topic::Providers, words, &live.choice).await?;
    Ok(CommandOutcome::markdown(text))
}
