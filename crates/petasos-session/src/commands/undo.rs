//! `/undo`: takes back the last exchange.

use petasos_contract::message::Message;

use crate::command::{CommandOutcome, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "undo",
    aliases: &["rewind"],
    usage: "",
    about: "Remove the last exchange",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, _words: &str) -> Result<CommandOutcome, String> {
    let message = take_back(live).await?;
    let first = message.lines().next().unwrap_or_default();
    let outcome = CommandOutcome::note(format!("removed the last exchange: {first}"));
    Ok(outcome.and_note("files are not changed by this; /rollback does that"))
}

/// Hides the last message of the person and everything behind it; gives the message.
pub(super) async fn take_back(live: &mut LiveSession) -> Result<String, String> {
    let agent = live.begun()?;
    let rows = agent.transcript().rows();
    let last = rows.iter().rev().find_map(|row| match &row.stored.message {
        Message::User { content } if row.stored.note.is_none() => Some((row.seq, content.text())),
        _ => None,
    });
    let (seq, text) = last.ok_or("there is nothing to take back")?;
    agent.rewind(seq).await.map_err(|error| error.to_string())?;
    Ok(text)
}
