//! Parallel.

use petasos_contract::Settings;
use serde_json::{Value, json};

use crate::rows::Row;
use crate::search::{SearchAsk, SearchDef, Unusable};
use crate::service::{KeyHeader, Outgoing, Service};

pub(super) static PROVIDER: SearchDef = SearchDef {
    service: Service {
        id: "parallel",
        keys: &["PARALLEL_API_KEY"],
        base: "https://api.parallel.ai",
        key_header: KeyHeader::Named("x-api-key"),
        ..Service::USUAL
    },
    rows_max: 40,
    rank: Some(3),
    outgoing,
    rows,
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk, settings: &Settings) -> Outgoing {
    let (query, wanted, unwanted) = ask.sites();
    let mut advanced = json!({ "max_results": ask.limit.clamp(1, 40) });
    if let Some(object) =
        advanced.as_object_mut().filter(|_| !wanted.is_empty() || !unwanted.is_empty())
    {
        let policy = json!({ "include_domains": wanted, "exclude_domains": unwanted });
        object.insert("source_policy".to_owned(), policy);
    }
    let body = json!({ "search_queries": [query], "objective": query, "mode": mode(settings),
        "advanced_settings": advanced });
    Outgoing { path: "/v1/search".to_owned(), body: Some(body) }
}

/// The mode by its name, or by the one it had before.
fn mode(settings: &Settings) -> &'static str {
    let given = settings.variable("PARALLEL_SEARCH_MODE").map(|set| set.value.expose().to_owned());
    match given.as_deref().map(str::trim) {
        Some("agentic" | "advanced") => "advanced",
        Some("fast") => "fast",
        Some(_) | None => "basic",
    }
}

/// The excerpts of a page are its description.
fn rows(body: &str) -> Result<Vec<Row>, Unusable> {
    let value: Value = serde_json::from_str(body)?;
    let list = value["results"].as_array().ok_or("`results` is no list")?;
    let row = |found: &Value| {
        let parts = found["excerpts"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let description = parts.collect::<Vec<_>>().join(" … ");
        Row { description, ..Row::of(found, ["title", "url", "excerpt", "publish_date"]) }
    };
    Ok(list.iter().map(row).collect())
}
