//! Parallel.

use serde_json::{Value, json};

use crate::fault::WebError;
use crate::reader::{Page, ReaderDef, failed};
use crate::service::{KeyHeader, Outgoing, Service};

pub(super) static READER: ReaderDef = ReaderDef {
    service: Service {
        id: "parallel",
        keys: &["PARALLEL_API_KEY"],
        base: "https://api.parallel.ai",
        key_header: KeyHeader::Named("x-api-key"),
        ..Service::USUAL
    },
    rank: 3,
    outgoing: |url| {
        let body = json!({ "urls": [url], "advanced_settings": { "full_content": true } });
        Outgoing::post("/v1/extract", body)
    },
    page,
};

fn page(answer: &Value, _: &str) -> Result<Page, WebError> {
    let read = &answer["results"][0];
    if read.is_null() {
        let why = answer["errors"][0]["error_type"].as_str().unwrap_or("the page is missing");
        return Err(failed("parallel", why));
    }
    let text = |key: &str| read[key].as_str().map(str::to_owned);
    Page::of(text("full_content"), "parallel").map(|page| Page {
        title: text("title"),
        published: text("publish_date"),
        ..page
    })
}
