//! `/rollback`: checkpoints of the workspace.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::services::Topic;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "rollback",
    aliases: &["checkpoint", "checkpoints"],
    usage: "[number [yes]]",
    about: "List checkpoints of the workspace, or restore one",
    class: CommandClass::Admin,
    mid_run: MidRun::Busy,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let services = live.services();
    if words.is_empty() {
        let text = services.describe(Topic::Checkpoints, "", &live.choice).await?;
        return Ok(CommandOutcome::markdown(text));
    }
    live.quiet()?;
    Ok(CommandOutcome::markdown(services.restore(words, &live.call_context()).await?))
}
