//! `/undo`: takes back the last exchanges.

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "undo",
    aliases: &["rewind"],
    usage: "[number] [now]",
    about: "Remove the last exchange, or more",
    class: CommandClass::User,
    mid_run: MidRun::Busy,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let (number, now) = match words.strip_suffix("now") {
        Some(number) => (number.trim(), true),
        None => (words, false),
    };
    let count = match number {
        "" => 1,
        number => match number.parse() {
            Ok(count @ 1..) => count,
            _ => return Err(format!("`{number}` is not a number of exchanges")),
        },
    };
    let what = match count {
        1 => "the last exchange".to_owned(),
        count => format!("the last {count} exchanges"),
    };
    if !now && asks_first(live) {
        let text = to_take_back(live, count)?;
        let number = if count == 1 { String::new() } else { format!(" {count}") };
        return Ok(CommandOutcome::note(format!(
            "`/undo{number} now` removes {what}, from here on: {} \
             (`approvals.destructive_slash_confirm: false` never asks)",
            text.lines().next().unwrap_or_default()
        )));
    }
    let message = take_back(live, count).await?;
    let first = message.lines().next().unwrap_or_default();
    let outcome = CommandOutcome::note(format!("Removed {what}: {first}"));
    Ok(outcome.and_note("Files are not changed by this; /rollback does that."))
}

/// Whether a command that throws something away asks first.
fn asks_first(live: &LiveSession) -> bool {
    let asks = live.choice.settings.get("approvals.destructive_slash_confirm");
    asks.and_then(serde_json::Value::as_bool).unwrap_or(true)
}

/// The first message that would go.
fn to_take_back(live: &mut LiveSession, count: usize) -> Result<String, String> {
    let found = live.exchanges()?.into_iter().nth(count.saturating_sub(1));
    Ok(found.ok_or("there is nothing to remove")?.1)
}

/// Hides so many messages of the person and everything behind; gives the first of them.
pub(super) async fn take_back(live: &mut LiveSession, count: usize) -> Result<String, String> {
    let found = live.exchanges()?.into_iter().nth(count.saturating_sub(1));
    let (seq, text) = found.ok_or("there is nothing to remove")?;
    live.begun()?.rewind(seq).await.map_err(|error| error.to_string())?;
    Ok(text)
}
