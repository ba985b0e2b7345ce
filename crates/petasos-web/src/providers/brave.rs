//! Brave Search.

use petasos_contract::Settings;

use crate::rows::{encoded, rows_at};
use crate::search::{SearchAsk, SearchDef};
use crate::service::{KeyHeader, Outgoing, Service};

pub(super) static PROVIDER: SearchDef = SearchDef {
    service: Service {
        id: "brave",
        aliases: &["brave-free"],
        keys: &["BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"],
        base: "https://api.search.brave.com",
        key_header: KeyHeader::Named("x-subscription-token"),
        ..Service::USUAL
    },
    rank: Some(6),
    pages: true,
    outgoing,
    rows: |body| rows_at(body, &["web", "results"], ["title", "url", "description", "page_age"]),
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk, _: &Settings) -> Outgoing {
    let freshness = match ask.freshness.as_deref() {
        Some("day") => "&freshness=pd",
        Some("week") => "&freshness=pw",
        Some("month") => "&freshness=pm",
        Some("year") => "&freshness=py",
        Some(_) | None => "",
    };
    let count = ask.limit.clamp(1, 20);
    let page = (ask.offset / count).min(9);
    let query: String = ask.query.chars().take(400).collect();
    let path =
        format!("/res/v1/web/search?q={}&count={count}&offset={page}{freshness}", encoded(&query));
    Outgoing { path, body: None }
}
