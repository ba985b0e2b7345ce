//! Exa.

use petasos_contract::Settings;
use serde_json::{Value, json};

use crate::rows::Row;
use crate::search::{SearchAsk, SearchDef, Unusable};
use crate::service::{KeyHeader, Outgoing, Service};

pub(super) static PROVIDER: SearchDef = SearchDef {
    service: Service {
        id: "exa",
        keys: &["EXA_API_KEY"],
        base: "https://api.exa.ai",
        key_header: KeyHeader::Named("x-api-key"),
        ..Service::USUAL
    },
    rows_max: 100,
    rank: Some(2),
    outgoing,
    rows,
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk, _: &Settings) -> Outgoing {
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
fn rows(body: &str) -> Result<Vec<Row>, Unusable> {
    let value: Value = serde_json::from_str(body)?;
    let list = value["results"].as_array().ok_or("`results` is no list")?;
    let row = |found: &Value| {
        let parts = found["highlights"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let description = parts.collect::<Vec<_>>().join(" … ");
        Row { description, ..Row::of(found, ["title", "url", "text", "publishedDate"]) }
    };
    Ok(list.iter().map(row).collect())
}
