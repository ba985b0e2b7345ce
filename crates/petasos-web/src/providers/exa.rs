//! Exa.

use serde_json::{Value, json};

use crate::search::{KeyHeader, Outgoing, Row, SearchAsk, SearchDef};

pub(super) static PROVIDER: SearchDef = SearchDef {
    id: "exa",
    keys: &["EXA_API_KEY"],
    base: "https://api.exa.ai",
    key_header: KeyHeader::Named("x-api-key"),
    rows_max: 100,
    rank: Some(2),
    outgoing,
    rows,
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk) -> Outgoing {
    let (query, wanted, unwanted) = ask.sites();
    let mut body = json!({ "query": query, "numResults": ask.limit.clamp(1, 100),
        "contents": { "highlights": true } });
    if let Some(object) = body.as_object_mut() {
        if !wanted.is_empty() {
            object.insert("includeDomains".to_owned(), wanted.into());
        }
        if !unwanted.is_empty() {
            object.insert("excludeDomains".to_owned(), unwanted.into());
        }
    }
    Outgoing { path: "/search".to_owned(), body: Some(body) }
}

/// The highlights of a page are its description.
fn rows(body: &str) -> Result<Vec<Row>, String> {
    let value: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let list = value["results"].as_array().ok_or("`results` is no list")?;
    let row = |found: &Value| {
        let parts = found["highlights"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let description = parts.collect::<Vec<_>>().join(" … ");
        Row { description, ..Row::of(found, ["title", "url", "text", "publishedDate"]) }
    };
    Ok(list.iter().map(row).collect())
}
