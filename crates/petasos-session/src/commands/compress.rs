//! `/compress`: sums up older messages; the log keeps everything.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "compress",
    aliases: &["compact"],
    usage: "[what matters]",
    about: "Shorten the conversation for the model",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    live.begun()?;
    let Some(mut agent) = live.agent.take() else { return Ok(CommandOutcome::default()) };
    let cx = live.call_context();
    live.shared.begin(&cx, None);
    let focus = (!words.is_empty()).then_some(words);
    let done = agent.compress(focus, &cx).await;
    live.shared.rest();
    live.agent = Some(agent);
    match done {
        Ok(_) => Ok(CommandOutcome::default()),
        Err(why) => Err(format!("Not compressed: {why}")),
    }
}
