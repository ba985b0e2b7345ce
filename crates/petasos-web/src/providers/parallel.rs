//! Parallel.

use serde_json::{Value, json};

use crate::search::{KeyHeader, Outgoing, Row, SearchAsk, SearchDef};

pub(super) static PROVIDER: SearchDef = SearchDef {
    id: "parallel",
    keys: &["PARALLEL_API_KEY"],
    base: "https://api.parallel.ai",
    key_header: KeyHeader::Named("x-api-key"),
    rows_max: 40,
    rank: Some(3),
    outgoing,
    rows,
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk) -> Outgoing {
    let (query, wanted, unwanted) = ask.sites();
    let mut settings = json!({ "max_results": ask.limit.clamp(1, 40) });
    if let Some(object) =
        settings.as_object_mut().filter(|_| !wanted.is_empty() || !unwanted.is_empty())
    {
        let policy = json!({ "include_domains": wanted, "exclude_domains": unwanted });
        object.insert("source_policy".to_owned(), policy);
    }
    let body = json!({ "search_queries": [query], "objective": query, "mode": "basic",
        "advanced_settings": settings });
    Outgoing { path: "/v1/search".to_owned(), body: Some(body) }
}

/// The excerpts of a page are its description.
fn rows(body: &str) -> Result<Vec<Row>, String> {
    let value: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let list = value["results"].as_array().ok_or("`results` is no list")?;
    let row = |found: &Value| {
        let parts = found["excerpts"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let description = parts.collect::<Vec<_>>().join(" … ");
        Row { description, ..Row::of(found, ["title", "url", "excerpt", "publish_date"]) }
    };
    Ok(list.iter().map(row).collect())
}
