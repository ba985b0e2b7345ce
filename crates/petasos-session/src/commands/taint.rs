//! `/taint`: whose words the conversation took in.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "taint",
    aliases: &[],
    usage: "",
    about: "Show which words from outside the conversation has read",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    let words = live.begun()?.words();
    let sources = words.sources();
    if sources.is_empty() {
        return Ok(CommandOutcome::markdown(
            "Nothing from outside was read in this conversation.".to_owned(),
        ));
    }
    let lines: Vec<String> =
        sources.iter().map(|source| format!("{}. {source}", source.number)).collect();
    Ok(CommandOutcome::markdown(format!(
        "Words from outside ({}):\n\n{}\n\nSending, remembering and scheduling ask first. \
         `/trust NUMBER` or `/trust all` trusts them in this conversation.",
        words.heat(),
        lines.join("\n")
    )))
}
