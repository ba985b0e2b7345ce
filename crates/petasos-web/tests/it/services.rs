//! Services that read pages, each against a double that answers by its published schema.

use petasos_web::extract::{ExtractAsk, Reading, extract};
use serde_json::{Value, json};

use crate::kit::{Kit, Reply};

const KEY: &str = "key-for-tests-4711";

/// A service, its key and endpoint, a page that it read, and one that it could not.
fn doubles() -> Vec<(&'static str, &'static str, &'static str, Value, Value)> {
    vec![
        (
            "firecrawl",
            "FIRECRAWL_API_KEY",
            "/v2/scrape",
            json!({ "success": true, "data": { "markdown": "# Read there", "metadata": {
                "title": "There", "sourceURL": "https://a.example/x", "statusCode": 200 } } }),
            json!({ "success": true, "data": { "markdown": "", "metadata": { "statusCode": 404 } } }),
        ),
        (
            "tavily",
            "TAVILY_API_KEY",
            "/extract",
            json!({ "results": [{ "url": "https://a.example/x", "raw_content": "# Read there" }],
                "failed_results": [] }),
            json!({ "results": [], "failed_results": [{ "url": "u", "error": "Could not fetch" }] }),
        ),
        (
            "exa",
            "EXA_API_KEY",
            "/contents",
            json!({ "results": [{ "title": "There", "url": "https://a.example/x", "text": "# Read there" }],
                "statuses": [{ "id": "https://a.example/x", "status": "success" }] }),
            json!({ "results": [], "statuses": [{ "id": "u", "status": "error",
                "error": { "tag": "CRAWL_NOT_FOUND", "httpStatusCode": 404 } }] }),
        ),
        (
            "parallel",
            "PARALLEL_API_KEY",
            "/v1/extract",
            json!({ "extract_id": "e", "errors": [], "results": [{ "url": "https://a.example/x",
                "title": "There", "excerpts": [], "full_content": "# Read there" }] }),
            json!({ "extract_id": "e", "results": [], "errors": [{ "url": "u",
                "error_type": "fetch_error", "http_status_code": 500 }] }),
        ),
    ]
}

// E5.2, E5.3: a named service reads, with its key in a header; what it cannot read is an error of
// that page; a private address is not sent to it.
#[tokio::test]
async fn services_read_what_they_are_named_for() {
    for (id, key, path, good, bad) in doubles() {
        let mut kit = Kit::start().await;
        let url = kit.server.url.clone();
        kit.set(&json!({ "extract_backend": id, "endpoints": { id: url } }), &[(key, KEY)]);
        kit.server.at(path, Reply::json(&good));
        let told = kit.read(&["https://a.example/x"]).await.remove(0);
        assert_eq!(told["content"], "# Read there", "{id}: {told}");
        assert_eq!(told["provider"], id);
        let heard = kit.server.heard().remove(0);
        assert!(
            heard.headers.values().any(|value| value.ends_with(KEY)) && !heard.body.contains(KEY)
        );
        assert!(heard.body.contains("https://a.example/x"), "{id}");
        kit.server.at(path, Reply::json(&bad));
        let told = kit.read(&["https://a.example/other"]).await.remove(0);
        assert!(
            matches!(told["error_type"].as_str(), Some("upstream" | "no_result")),
            "{id}: {told}"
        );
        let before = kit.server.heard().len();
        let told = kit.read(&["http://10.0.0.8/x"]).await.remove(0);
        assert_eq!(told["error_type"], "blocked_address", "{id}");
        assert_eq!(kit.server.heard().len(), before);
        kit.server.at(path, Reply::json(&json!({ "error": "no" })).status(402));
        assert_eq!(kit.read(&["https://a.example/third"]).await[0]["error_type"], "quota");
    }
}

// E5.2: a search service named for pages is an error, and so is one without its key.
#[tokio::test]
async fn a_service_that_only_searches_reads_nothing() {
    let kit = Kit::with(&json!({ "extract_backend": "brave" }), &[]).await;
    let ask = ExtractAsk { urls: vec!["https://a.example/".to_owned()], ..ExtractAsk::default() };
    let reading = Reading { sources: &kit.sources, renderer: None };
    assert_eq!(extract(&ask, reading, &kit.cx).await.unwrap_err().kind, "missing_setup");
    let kit = Kit::with(&json!({ "extract_backend": "exa" }), &[]).await;
    let reading = Reading { sources: &kit.sources, renderer: None };
    let error = extract(&ask, reading, &kit.cx).await.unwrap_err();
    assert!(error.message.contains("EXA_API_KEY"), "{error}");
}

// E5.2 row 4: a site that shuts us out is asked for once through a service with a key, visibly.
#[tokio::test]
async fn what_we_may_not_read_is_asked_for_once_elsewhere() {
    let mut kit = Kit::start().await;
    let shut = kit.server.at("/shut", Reply::html("go away").status(403));
    assert_eq!(kit.read(&[&shut]).await[0]["error_type"], "blocked_site");
    let url = kit.server.url.clone();
    kit.set(&json!({ "endpoints": { "tavily": url } }), &[("TAVILY_API_KEY", KEY)]);
    // Addresses of this machine are never sent to a service: the refusal stays ours.
    let told = kit.read(&[&shut]).await.remove(0);
    assert_eq!(told["error_type"], "blocked_site", "{told}");
    assert!(kit.server.heard().iter().all(|heard| !heard.line.contains("/extract")));
}
