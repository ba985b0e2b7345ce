//! Tavily.

use petasos_contract::Settings;
use serde_json::json;

use crate::rows::rows_at;
use crate::search::{SearchAsk, SearchDef};
use crate::service::{Outgoing, Service};

pub(super) static PROVIDER: SearchDef = SearchDef {
    service: Service {
        id: "tavily",
        keys: &["TAVILY_API_KEY"],
        base_variable: Some("TAVILY_BASE_URL"),
        base: "https://api.tavily.com",
        status: |status| match status {
            432 | 433 => Some(("quota", "has no credit left")),
            _ => None,
        },
        ..Service::USUAL
    },
    rank: Some(1),
    outgoing,
    rows: |body| rows_at(body, &["results"], ["title", "url", "content", "published_date"]),
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk, _: &Settings) -> Outgoing {
    let (query, wanted, unwanted) = ask.sites();
    let mut body = json!({ "query": query, "max_results": ask.limit.clamp(1, 20) });
    if let Some(object) = body.as_object_mut() {
        if let Some(range) = &ask.freshness {
            object.insert("time_range".to_owned(), range.clone().into());
        }
        if !wanted.is_empty() {
            object.insert("include_domains".to_owned(), wanted.into());
        }
        if !unwanted.is_empty() {
            object.insert("exclude_domains".to_owned(), unwanted.into());
        }
    }
    Outgoing { path: "/search".to_owned(), body: Some(body) }
}
