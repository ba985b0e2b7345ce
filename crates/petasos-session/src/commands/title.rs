//! `/title`: what the conversation is called.

use petasos_store::Amend;

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "title",
    aliases: &["rename"],
    usage: "[title]",
    about: "Show or set the title",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    if words.is_empty() {
        let head = live.head().await.map_err(|error| error.to_string())?;
        let title = head.and_then(|head| head.title).unwrap_or_else(|| "(no title)".to_owned());
        return Ok(CommandOutcome::markdown(title));
    }
    let amended = live.begun()?.transcript().amend(Amend::Title(Some(words.to_owned()))).await;
    amended.map_err(|error| error.to_string())?;
    Ok(CommandOutcome::note(format!("renamed to: {words}")))
}
