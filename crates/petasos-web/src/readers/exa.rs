//! Exa.

use serde_json::{Value, json};

use crate::fault::WebError;
use crate::reader::{Page, ReaderDef, failed};
use crate::service::{KeyHeader, Outgoing, Service};

pub(super) static READER: ReaderDef = ReaderDef {
    service: Service {
        id: "exa",
        keys: &["EXA_API_KEY"],
        base: "https://api.exa.ai",
        key_header: KeyHeader::Named("x-api-key"),
        ..Service::USUAL
    },
    rank: 2,
    outgoing: |url| Outgoing::post("/contents", json!({ "urls": [url], "text": true })),
    page,
};

fn page(answer: &Value, _: &str) -> Result<Page, WebError> {
    let status = &answer["statuses"][0];
    if status["status"] == "error" {
        let why = status["error"]["tag"].as_str().unwrap_or("the page is missing");
        return Err(failed("exa", why));
    }
    let read = &answer["results"][0];
    let text = |key: &str| read[key].as_str().map(str::to_owned);
    Page::of(text("text"), "exa").map(|page| Page {
        title: text("title"),
        byline: text("author"),
        published: text("publishedDate"),
        ..page
    })
}
