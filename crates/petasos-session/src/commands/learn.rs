//! `/learn`: what worked here becomes a skill.

use crate::command::{AfterCommand, CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "learn",
    aliases: &[],
    usage: "[what]",
    about: "Have what worked in this conversation written down as a skill",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cg",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    live.begun()?;
    let what = if words.is_empty() { "what worked in this conversation" } else { words };
    let said = format!(
        "Write down {what} as a skill with `skill_manage`, so that it can be done again: when to \
         use it, the steps that worked, what went wrong and how it was solved. Change a skill that \
         is about this already instead of making a second one."
    );
    Ok(CommandOutcome::default().then(AfterCommand::Submit(said)))
}
