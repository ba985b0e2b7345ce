//! Tavily.

use serde_json::{Value, json};

use crate::fault::WebError;
use crate::reader::{Page, ReaderDef, failed};
use crate::service::{Outgoing, Service};

pub(super) static READER: ReaderDef = ReaderDef {
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
    rank: 1,
    outgoing: |url| Outgoing::post("/extract", json!({ "urls": [url], "format": "markdown" })),
    page,
};

fn page(answer: &Value, _: &str) -> Result<Page, WebError> {
    let read = &answer["results"][0];
    if read.is_null() {
        let why = answer["failed_results"][0]["error"].as_str().unwrap_or("the page is missing");
        return Err(failed("tavily", why));
    }
    Page::of(read["raw_content"].as_str().map(str::to_owned), "tavily")
}
