//! `/background`: a task beside the conversation.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "background",
    aliases: &["bg", "btw"],
    usage: "[task | stop N]",
    about: "Run a task beside this conversation; lists what runs",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cg",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    if words.is_empty() {
        let running = live.asides.listed();
        let none = "no background task; `/background TASK` begins one".to_owned();
        let text = if running.is_empty() { none } else { running.join("\n") };
        return Ok(CommandOutcome::markdown(text));
    }
    if let Some(number) = words.strip_prefix("stop ").and_then(|word| word.trim().parse().ok()) {
        if !live.asides.stop(number) {
            return Err(format!("no background task has the number {number}"));
        }
        return Ok(CommandOutcome::note(format!("background task {number} is stopped")));
    }
    let (number, session) = live.begin_aside(words).await?;
    let text = format!("⚑ background task {number} works in {session}; its end is shown here");
    Ok(CommandOutcome::note(text))
}
