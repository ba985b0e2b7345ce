//! Firecrawl, hosted or on a host of your own.

use serde_json::{Value, json};

use crate::fault::WebError;
use crate::reader::{Page, ReaderDef, failed};
use crate::service::{Outgoing, Service};

pub(super) static READER: ReaderDef = ReaderDef {
    service: Service {
        id: "firecrawl",
        keys: &["FIRECRAWL_API_KEY"],
        base_variable: Some("FIRECRAWL_API_URL"),
        base: "https://api.firecrawl.dev",
        ..Service::USUAL
    },
    rank: 4,
    outgoing: |url| {
        let body = json!({ "url": url, "formats": ["markdown"], "onlyMainContent": true,
            "parsers": ["pdf"] });
        Outgoing::post("/v2/scrape", body)
    },
    page,
};

fn page(answer: &Value, _: &str) -> Result<Page, WebError> {
    let data = &answer["data"];
    let about = &data["metadata"];
    if let Some(status) = about["statusCode"].as_u64().filter(|status| *status >= 400) {
        return Err(failed("firecrawl", &format!("the page answered {status}")));
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let final_url = text(&about["url"]).or_else(|| text(&about["sourceURL"]));
    Page::of(text(&data["markdown"]), "firecrawl").map(|page| Page {
        title: text(&about["title"]),
        published: text(&about["publishedTime"]),
        lang: text(&about["language"]),
        final_url,
        ..page
    })
}
