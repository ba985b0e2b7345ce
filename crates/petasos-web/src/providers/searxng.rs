//! SearXNG, on a host of your own.

use serde_json::Value;

use crate::search::{KeyHeader, Outgoing, Row, SearchAsk, SearchDef, encoded};

pub(super) static PROVIDER: SearchDef = SearchDef {
    id: "searxng",
    base_variable: Some("SEARXNG_URL"),
    key_header: KeyHeader::None,
    rows_max: 30,
    rank: Some(5),
    outgoing,
    rows,
    status: |status| match status {
        403 => {
            Some(("upstream", "does not allow json: add it to search.formats in its settings.yml"))
        }
        _ => None,
    },
    ..SearchDef::USUAL
};

fn outgoing(ask: &SearchAsk) -> Outgoing {
    let range =
        ask.freshness.as_ref().map_or_else(String::new, |range| format!("&time_range={range}"));
    let page = ask.offset / ask.limit.max(1) + 1;
    let path = format!("/search?q={}&format=json&pageno={page}{range}", encoded(&ask.query));
    Outgoing { path, body: None }
}

/// The best score first.
fn rows(body: &str) -> Result<Vec<Row>, String> {
    let value: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
    let list = value["results"].as_array().ok_or("`results` is no list")?;
    let mut list: Vec<&Value> = list.iter().collect();
    let score = |row: &Value| row["score"].as_f64().unwrap_or(0.0);
    list.sort_by(|a, b| score(b).total_cmp(&score(a)));
    Ok(list
        .into_iter()
        .map(|row| Row::of(row, ["title", "url", "content", "publishedDate"]))
        .collect())
}
