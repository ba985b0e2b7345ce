//! `/new`: the next message begins a new conversation.

use crate::command::{AfterCommand, CommandOutcome, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "new",
    aliases: &["reset", "clear"],
    usage: "",
    about: "Start a new conversation",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    live.quiet()?;
    let text = "a new conversation begins with your next message; /sessions lists the others";
    Ok(CommandOutcome::note(text).then(AfterCommand::New))
}
