//! `/sessions`: the conversations of this home.

use std::path::Path;

use petasos_store::{Filter, Hit, Query, SessionHead};

use crate::command::{CommandClass, CommandOutcome, MidRun, SlashCommand};
use crate::live::LiveSession;
use crate::offers::is_of;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "sessions",
    aliases: &["list"],
    usage: "[words]",
    about: "List conversations, or find them by words",
    class: CommandClass::User,
    mid_run: MidRun::Now,
    places: "cge",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let scope = live.scope().await.map_err(|error| error.to_string())?;
    let here = live.choice.settings.workspace().to_path_buf();
    let store = &live.engine().store;
    let lines: Vec<String> = if words.is_empty() {
        let filter = Filter { scope, limit: 20, ..Filter::default() };
        let heads = store.list(&filter).await.map_err(|error| error.to_string())?;
        let (near, far): (Vec<_>, Vec<_>) = heads.iter().partition(|head| is_of(head, &here));
        near.into_iter().chain(far).map(|head| row(head, &head.preview, &here)).collect()
    } else {
        let (text, one_per_lineage) = (words.to_owned(), true);
        let query = Query { scope, text, one_per_lineage, limit: 20, ..Query::default() };
        let hits = store.search(&query).await.map_err(|error| error.to_string())?;
        let found = |hit: &Hit| hit.snippet.replace(">>>", "**").replace("<<<", "**");
        hits.iter().map(|hit| row(&hit.session, &found(hit), &here)).collect()
    };
    if lines.is_empty() {
        return Ok(CommandOutcome::markdown("there is none"));
    }
    Ok(CommandOutcome::markdown(lines.join("\n")).and_note("/resume ID continues one"))
}

/// Those of other folders say which.
fn row(head: &SessionHead, beside: &str, here: &Path) -> String {
    let title = head.title.as_deref().unwrap_or("(no title)");
    let beside: String = beside.replace('\n', " ").chars().take(100).collect();
    let beside = if beside.trim() == title { String::new() } else { format!(" — {beside}") };
    let folder = match &head.cwd {
        Some(cwd) if !is_of(head, here) => format!(" in `{cwd}`"),
        _ => String::new(),
    };
    format!("- `{}` **{title}**, {} messages{folder}{beside}", head.id, head.messages)
}
