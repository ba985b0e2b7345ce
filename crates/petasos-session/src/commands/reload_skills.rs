//! `/reload-skills`: looks at the folders of skills again.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "reload-skills",
    aliases: &[],
    usage: "",
    about: "Read the folders of skills again",
    class: CommandClass::Admin,
    mid_run: MidRun::Busy,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    live.quiet()?;
    let skills = live.engine().ports.skills.clone();
    let skills = skills.ok_or("this program has no skills")?;
    let count = skills.callable(&live.call_context()).await.len();
    Ok(CommandOutcome::note(format!(
        "{count} skills can be called; a new conversation is told of those that are new"
    )))
}
