//! `/history`: the messages of this conversation.

use std::fmt::Write as _;

use petasos_agent::INTERRUPTED;
use petasos_contract::message::Message;
use petasos_store::Stored;

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "history",
    aliases: &[],
    usage: "[how many]",
    about: "Show the conversation so far",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "c",
    run: |live, words| Box::pin(std::future::ready(run(live, words))),
};

/// How much of the arguments of a call is shown.
const ARGUMENTS_CHARS: usize = 120;

fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let most =
        if words.is_empty() { 20 } else { words.parse().map_err(|_| "how many? /history 20")? };
    let rows = live.begun()?.transcript().rows();
    let newest = rows.iter().skip(rows.len().saturating_sub(most));
    let mut shown: Vec<String> = newest.filter_map(|row| entry(&row.stored)).collect();
    if rows.last().is_some_and(|row| matches!(row.stored.message, Message::User { .. })) {
        shown.push("✗ no reply came to this message".to_owned());
    }
    Ok(CommandOutcome::markdown(shown.join("\n\n")))
}

fn entry(stored: &Stored) -> Option<String> {
    match &stored.message {
        Message::User { content } => {
            let lines: Vec<String> =
                content.text().lines().map(|line| format!("> {line}")).collect();
            Some(lines.join("\n"))
        }
        Message::Assistant(reply) => {
            let mut text = reply.text().to_owned();
            for call in &reply.tool_calls {
                let arguments: String = call.arguments.chars().take(ARGUMENTS_CHARS).collect();
                write!(text, "\n\n⚙ {} `{arguments}`", call.name).unwrap_or_default();
            }
            if stored.note.as_deref() == Some(INTERRUPTED) {
                text.push_str("\n\n✗ interrupted");
            }
            Some(text)
        }
        Message::Tool(_) => None,
    }
}
