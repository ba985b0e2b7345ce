//! SearXNG, on a host of your own.

use petasos_contract::Settings;
use serde_json::Value;

use crate::rows::{Row, encoded};
use crate::search::{SearchAsk, SearchDef, Unusable};
use crate::service::{KeyHeader, Outgoing, Service};

pub(super) static PROVIDER: SearchDef = SearchDef {
    service: Service {
        id: "searxng",
        base_variable: Some("SEARXNG_URL"),
        key_header: KeyHeader::None,
        status: |status| match status {
            403 => Some((
                "upstream",
                "does not allow json: add it to search.formats in its settings.yml",
            )),
            _ => None,
        },
        ..Service::USUAL
    },
    rows_max: 30,
    rank: Some(5),
    pages: true,
    outgoing,
    rows,
    warnings,
};

fn outgoing(ask: &SearchAsk, _: &Settings) -> Outgoing {
    let range =
        ask.freshness.as_ref().map_or_else(String::new, |range| format!("&time_range={range}"));
    let page = ask.offset / ask.limit.max(1) + 1;
    let path = format!("/search?q={}&format=json&pageno={page}{range}", encoded(&ask.query));
    Outgoing { path, body: None }
}

/// The best score first.
fn rows(body: &str) -> Result<Vec<Row>, Unusable> {
    let value: Value = serde_json::from_str(body)?;
    let list = value["results"].as_array().ok_or("`results` is no list")?;
    let mut list: Vec<&Value> = list.iter().collect();
    let score = |row: &Value| row["score"].as_f64().unwrap_or(0.0);
    list.sort_by(|a, b| score(b).total_cmp(&score(a)));
    Ok(list
        .into_iter()
        .map(|row| Row::of(row, ["title", "url", "content", "publishedDate"]))
        .collect())
}

/// Which engines behind it did not answer.
fn warnings(body: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let silent = value["unresponsive_engines"].as_array().into_iter().flatten();
    silent
        .filter_map(|engine| {
            Some(format!("{} did not answer: {}", engine[0].as_str()?, engine[1].as_str()?))
        })
        .collect()
}
