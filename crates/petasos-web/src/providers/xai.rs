//! Grok with its own search tool. The rows are a model's words, and say so; only when chosen.

use petasos_contract::Settings;
use serde_json::{Value, json};

use crate::rows::{Row, rows_at};
use crate::search::{SearchAsk, SearchDef, Unusable};
use crate::service::{Outgoing, Service};

pub(super) static PROVIDER: SearchDef = SearchDef {
    service: Service {
        id: "xai",
        aliases: &["grok"],
        keys: &["XAI_API_KEY"],
        base: "https://api.x.ai",
        ..Service::USUAL
    },
    rows_max: 20,
    outgoing,
    rows,
    warnings: |_| vec!["generated".to_owned()],
    ..SearchDef::USUAL
};

const MODEL: &str = "grok-4-1-fast-non-reasoning";
const SITES_MAX: usize = 5;

fn outgoing(ask: &SearchAsk, settings: &Settings) -> Outgoing {
    let (query, mut wanted, mut unwanted) = ask.sites();
    wanted.extend(settings.names("web.xai.allowed_domains").unwrap_or_default());
    unwanted.extend(settings.names("web.xai.excluded_domains").unwrap_or_default());
    wanted.truncate(SITES_MAX);
    unwanted.truncate(SITES_MAX);
    let mut tool = json!({ "type": "web_search" });
    let filters = match (wanted.is_empty(), unwanted.is_empty()) {
        (false, _) => Some(json!({ "allowed_domains": wanted })),
        (true, false) => Some(json!({ "excluded_domains": unwanted })),
        (true, true) => None,
    };
    if let (Some(filters), Some(object)) = (filters, tool.as_object_mut()) {
        object.insert("filters".to_owned(), filters);
    }
    let recent = ask
        .freshness
        .as_ref()
        .map_or_else(String::new, |within| format!(" Only pages of the last {within}."));
    let words = format!(
        "Search the web for: {query}\nAnswer with JSON alone: {{\"results\": [{{\"title\", \"url\", \"description\", \"published\"}}]}} with up to {} pages, best first.{recent}",
        ask.limit
    );
    let model = settings.text("web.xai.model").unwrap_or(MODEL);
    let body = json!({ "model": model, "tools": [tool],
        "input": [{ "role": "user", "content": words }] });
    Outgoing::post("/v1/responses", body)
}

/// The JSON in the text of its answer.
fn rows(body: &str) -> Result<Vec<Row>, Unusable> {
    let value: Value = serde_json::from_str(body)?;
    let parts = value["output"].as_array().ok_or("`output` is no list")?;
    let text: String = parts
        .iter()
        .flat_map(|part| part["content"].as_array().into_iter().flatten())
        .filter(|content| content["type"] == "output_text")
        .filter_map(|content| content["text"].as_str())
        .collect();
    let start = text.find('{').ok_or("its text holds no JSON")?;
    let end = text.rfind('}').ok_or("its text holds no JSON")?;
    let json = text.get(start..=end).ok_or("its text holds no JSON")?;
    rows_at(json, &["results"], ["title", "url", "description", "published"])
}
