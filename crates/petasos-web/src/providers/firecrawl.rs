//! Firecrawl, hosted or on a host of your own.

use petasos_contract::Settings;
use serde_json::json;

use crate::rows::rows_at;
use crate::search::{SearchAsk, SearchDef};
use crate::service::{Outgoing, Service};

pub(super) static PROVIDER: SearchDef = SearchDef {
    service: Service {
        id: "firecrawl",
        keys: &["FIRECRAWL_API_KEY"],
        base_variable: Some("FIRECRAWL_API_URL"),
        base: "https://api.firecrawl.dev",
        ..Service::USUAL
    },
    rows_max: 100,
    rank: Some(4),
    outgoing,
    rows: |body| rows_at(body, &["data", "web"], ["title", "url", "description", "date"]),
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk, _: &Settings) -> Outgoing {
    let mut body = json!({ "query": ask.query, "limit": ask.limit.clamp(1, 100) });
    let range = match ask.freshness.as_deref() {
        Some("day") => Some("qdr:d"),
        Some("week") => Some("qdr:w"),
        Some("month") => Some("qdr:m"),
        Some("year") => Some("qdr:y"),
        Some(_) | None => None,
    };
    if let (Some(range), Some(object)) = (range, body.as_object_mut()) {
        object.insert("tbs".to_owned(), range.into());
    }
    Outgoing { path: "/v2/search".to_owned(), body: Some(body) }
}
