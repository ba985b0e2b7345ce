//! Serper.

use petasos_contract::Settings;
use serde_json::json;

use crate::rows::rows_at;
use crate::search::{SearchAsk, SearchDef};
use crate::service::{KeyHeader, Outgoing, Service};

pub(super) static PROVIDER: SearchDef = SearchDef {
    service: Service {
        id: "serper",
        keys: &["SERPER_API_KEY"],
        base: "https://google.serper.dev",
        key_header: KeyHeader::Named("x-api-key"),
        ..Service::USUAL
    },
    rows_max: 100,
    rank: Some(7),
    pages: true,
    outgoing,
    rows: |body| rows_at(body, &["organic"], ["title", "link", "snippet", "date"]),
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk, _: &Settings) -> Outgoing {
    let limit = ask.limit.clamp(1, 100);
    let mut body = json!({ "q": ask.query, "num": limit, "page": ask.offset / limit + 1 });
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
    Outgoing { path: "/search".to_owned(), body: Some(body) }
}
