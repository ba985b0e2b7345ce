//! `/new`: the next message begins a new conversation.

use crate::command::{AfterCommand, CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "new",
    aliases: &["reset", "clear"],
    usage: "",
    about: "Start a new conversation",
    class: CommandClass::User,
    mid_run: MidRun::Ends,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

/// `here` is said by surfaces that keep their name for the conversation.
async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    if words == "here" {
        return begin_anew(live).await;
    }
    live.quiet()?;
    let text = "a new conversation begins with your next message; /sessions lists the others";
    Ok(CommandOutcome::note(text).then(AfterCommand::New))
}

/// Takes back everything that was said, summaries too.
async fn begin_anew(live: &mut LiveSession) -> Result<CommandOutcome, String> {
    if let Some(agent) = live.quiet()?
        && let Some(first) = agent.transcript().rows().first().map(|row| row.seq)
    {
        agent.rewind(first).await.map_err(|error| error.to_string())?;
    }
    let text = "a new conversation begins here; what was said before is stored and not shown";
    Ok(CommandOutcome::note(text))
}
