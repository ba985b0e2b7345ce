//! The skills of this home for programs that come over HTTP, and their words for webhooks.

use std::sync::Arc;

use petasos_contract::SessionId;
use petasos_contract::context::Surface;
use petasos_skills::Library;
use serde_json::{Value, json};

use crate::host::Host;

/// Names and what they are for.
pub(crate) async fn list(host: &Arc<Host>) -> Value {
    let library = Library::of(host.ports());
    let cx = host.call_context(Surface::ApiServer, SessionId::new("skills"));
    let listed = tokio::task::spawn_blocking(move || library.list(None, &cx)).await;
    let listed = listed.unwrap_or_default();
    let rows = listed.get("skills").and_then(Value::as_array).cloned().unwrap_or_default();
    let one = |row: &Value| {
        json!({
            "name": row.get("name"), "description": row.get("description"),
            "category": row.get("category"),
        })
    };
    rows.iter().map(one).collect()
}

/// The words of all of these, in their order; says which cannot be read.
pub(crate) async fn words(host: &Arc<Host>, names: &[String]) -> Result<String, String> {
    let skills = host.ports().skills.clone().ok_or("this program has no skills")?;
    let cx = host.call_context(Surface::ApiServer, SessionId::new("webhooks"));
    let mut words = Vec::new();
    for name in names {
        let called = skills.call(name, "", &cx).await.map_err(|why| format!("`{name}`: {why}"))?;
        words.push(called.context);
    }
    Ok(words.join("\n\n"))
}
