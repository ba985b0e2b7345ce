//! `/save`: the conversation as a file.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "save",
    aliases: &["export"],
    usage: "[file.md|file.jsonl]",
    about: "Write the conversation to a file",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "c",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    live.begun()?;
    let file = if words.is_empty() { format!("{}.md", live.id()) } else { words.to_owned() };
    Ok(CommandOutcome::note(live.services().export(live.id(), &file).await?))
}
