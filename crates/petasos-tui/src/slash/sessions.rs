//! `/sessions`: the conversations of this home.

use petasos_contract::store::{Filter, Query, SessionHead};

use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "sessions",
    aliases: &["list"],
    usage: "[words]",
    about: "List conversations, or find them by words",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let store = std::sync::Arc::clone(&chat.engine.store);
    let mut text = String::new();
    if words.is_empty() {
        let filter = Filter { limit: 20, ..Filter::default() };
        let heads = store.list(&filter).await.map_err(|error| error.to_string())?;
        for head in &heads {
            text.push_str(&row(head, &head.preview));
        }
    } else {
        let query =
            Query { text: words.to_owned(), one_per_lineage: true, limit: 20, ..Query::default() };
        let hits = store.search(&query).await.map_err(|error| error.to_string())?;
        for hit in &hits {
            let found = hit.snippet.replace(">>>", "**").replace("<<<", "**");
            text.push_str(&row(&hit.session, &found));
        }
    }
    if text.is_empty() {
        text.push_str("there is none");
    }
    chat.tell(&text);
    chat.remark("/resume ID goes on with one");
    Ok(Next::Done)
}

fn row(head: &SessionHead, beside: &str) -> String {
    let title = head.title.as_deref().unwrap_or("(no title)");
    let beside: String = beside.replace('\n', " ").chars().take(100).collect();
    let beside = if beside.trim() == title { String::new() } else { format!(" — {beside}") };
    format!("- `{}` **{title}**, {} messages{beside}\n", head.id, head.messages)
}
