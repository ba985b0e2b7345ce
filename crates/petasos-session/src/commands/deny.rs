//! `/deny`: refuses the question that is open.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "deny",
    aliases: &["no"],
    usage: "[why]",
    about: "Deny the open question",
    class: CommandClass::Everybody,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    super::approve::answer(live, &format!("deny {words}")).await
}
