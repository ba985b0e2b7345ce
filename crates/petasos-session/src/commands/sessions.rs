//! `/sessions`: the conversations of this home.

use petasos_store::{Filter, Hit, Query, SessionHead};

use crate::command::{CommandOutcome, SlashCommand};
use crate::live::LiveSession;

pub(super) static COMMAND: SlashCommand = SlashCommand {
    name: "sessions",
    aliases: &["list"],
    usage: "[words]",
    about: "List conversations, or find them by words",
    run: |live, words| Box::pin(run(live, words)),
};

async fn run(live: &mut LiveSession, words: &str) -> Result<CommandOutcome, String> {
    let scope = live.scope().await.map_err(|error| error.to_string())?;
    let store = &live.engine().store;
    let lines: Vec<String> = if words.is_empty() {
        let filter = Filter { scope, limit: 20, ..Filter::default() };
        let heads = store.list(&filter).await.map_err(|error| error.to_string())?;
        heads.iter().map(|head| row(head, &head.preview)).collect()
    } else {
        let (text, one_per_lineage) = (words.to_owned(), true);
        let query = Query { scope, text, one_per_lineage, limit: 20, ..Query::default() };
        let hits = store.search(&query).await.map_err(|error| error.to_string())?;
        let found = |hit: &Hit| hit.snippet.replace(">>>", "**").replace("<<<", "**");
        hits.iter().map(|hit| row(&hit.session, &found(hit))).collect()
    };
    if lines.is_empty() {
        return Ok(CommandOutcome::markdown("there is none"));
    }
    Ok(CommandOutcome::markdown(lines.join("\n")).and_note("/resume ID goes on with one"))
}

fn row(head: &SessionHead, beside: &str) -> String {
    let title = head.title.as_deref().unwrap_or("(no title)");
    let beside: String = beside.replace('\n', " ").chars().take(100).collect();
    let beside = if beside.trim() == title { String::new() } else { format!(" — {beside}") };
    format!("- `{}` **{title}**, {} messages{beside}", head.id, head.messages)
}
