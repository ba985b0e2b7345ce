//! Every search service against a double that answers by the service's published schema.

use petasos_web::search::{SearchAsk, search};
use serde_json::{Value, json};

use crate::kit::{Heard, Kit, Reply};

/// A service, its endpoint there, and an answer with so many rows.
struct Double {
    id: &'static str,
    key: Option<&'static str>,
    path: &'static str,
    header: Option<&'static str>,
    answer: fn(usize, usize) -> Value,
    /// Whether more rows come on further pages.
    pages: bool,
}

/// Rows with the fields that the services call so.
fn rows(from: usize, count: usize, [title, url, text]: [&str; 3]) -> Vec<Value> {
    (from..from + count)
        .map(|n| {
            json!({ title: format!("<b>Title</b> {n}"), url: format!("https://p{n}.example/"),
                text: format!("Words &amp; more {n}"), "highlights": [format!("Words &amp; more {n}")],
                "excerpts": [format!("Words &amp; more {n}")], "score": 100 - n })
        })
        .collect()
}

const DOUBLES: [Double; 7] = [
    Double {
        id: "brave",
        key: Some("BRAVE_SEARCH_API_KEY"),
        path: "/res/v1/web/search",
        header: Some("x-subscription-token"),
        answer: |from, n| {
            json!({ "type": "search", "query": { "original": "q" },
            "web": { "type": "search", "results": rows(from, n, ["title", "url", "description"]) } })
        },
        pages: true,
    },
    Double {
        id: "tavily",
        key: Some("TAVILY_API_KEY"),
        path: "/search",
        header: Some("authorization"),
        answer: |from, n| {
            json!({ "query": "q", "response_time": 0.9, "images": [],
            "results": rows(from, n, ["title", "url", "content"]) })
        },
        pages: false,
    },
    Double {
        id: "exa",
        key: Some("EXA_API_KEY"),
        path: "/search",
        header: Some("x-api-key"),
        answer: |from, n| {
            json!({ "requestId": "r", "resolvedSearchType": "neural",
            "results": rows(from, n, ["title", "url", "text"]), "costDollars": { "total": 0.005 } })
        },
        pages: false,
    },
    Double {
        id: "firecrawl",
        key: Some("FIRECRAWL_API_KEY"),
        path: "/v2/search",
        header: Some("authorization"),
        answer: |from, n| {
            json!({ "success": true,
            "data": { "web": rows(from, n, ["title", "url", "description"]) } })
        },
        pages: false,
    },
    Double {
        id: "parallel",
        key: Some("PARALLEL_API_KEY"),
        path: "/v1/search",
        header: Some("x-api-key"),
        answer: |from, n| json!({ "search_id": "s", "results": rows(from, n, ["title", "url", "x"]) }),
        pages: false,
    },
    Double {
        id: "serper",
        key: Some("SERPER_API_KEY"),
        path: "/search",
        header: Some("x-api-key"),
        answer: |from, n| {
            json!({ "searchParameters": { "q": "q" },
            "organic": rows(from, n, ["title", "link", "snippet"]) })
        },
        pages: true,
    },
    Double {
        id: "searxng",
        key: None,
        path: "/search",
        header: None,
        answer: |from, n| {
            json!({ "query": "q", "number_of_results": 0,
            "results": rows(from, n, ["title", "url", "content"]),
            "unresponsive_engines": [["bing", "timeout"]] })
        },
        pages: true,
    },
];

const KEY: &str = "key-for-tests-4711";

async fn kit(double: &Double) -> Kit {
    let mut kit = Kit::start().await;
    choose(&mut kit, double);
    kit
}

fn choose(kit: &mut Kit, double: &Double) {
    let url = kit.server.url.clone();
    let web = json!({ "search_backend": double.id, "endpoints": { double.id: url } });
    let variables: Vec<_> = double.key.into_iter().map(|name| (name, KEY)).collect();
    kit.set(&web, &variables);
}

fn ask(query: &str, limit: usize) -> SearchAsk {
    SearchAsk { query: query.to_owned(), limit, ..SearchAsk::default() }
}

// Acceptance 93, 95: rows, the key in its header and nowhere else.
#[tokio::test]
async fn e93_e95_every_service_gives_its_rows_for_its_key() {
    for double in &DOUBLES {
        let kit = kit(double).await;
        kit.server.at(double.path, Reply::json(&(double.answer)(0, 3)));
        let found = search(&ask("tides site:a.example", 3), &kit.cx).await.unwrap();
        let web = found["data"]["web"].as_array().unwrap();
        assert_eq!(web.len(), 3, "{}: {found:?}", double.id);
        assert_eq!(web[0]["title"], "Title 0", "{}", double.id);
        assert_eq!(web[0]["description"], "Words & more 0", "{}", double.id);
        assert_eq!(web[2]["position"], 3);
        assert_eq!(found["provider"], double.id);
        let heard = kit.server.heard();
        assert_eq!(heard.len(), 1, "{}", double.id);
        if let Some(header) = double.header {
            assert!(heard[0].headers[header].ends_with(KEY), "{}", double.id);
        }
        let Heard { line, body, .. } = &heard[0];
        assert!(!line.contains(KEY) && !body.contains(KEY), "{}", double.id);
        // The same question within a quarter of an hour is not asked again.
        assert_eq!(search(&ask("tides site:a.example", 3), &kit.cx).await.unwrap()["cached"], true);
        assert_eq!(kit.server.heard().len(), 1);
    }
}

// Acceptance 93: what fails says how, with a word of the closed list.
#[tokio::test]
async fn e93_failures_have_their_words() {
    for double in &DOUBLES {
        let kit = kit(double).await;
        let cases = [
            (401, "auth"),
            (402, "quota"),
            (429, "rate_limited"),
            (500, "upstream"),
            (503, "upstream"),
        ];
        for (status, wanted) in cases {
            let reply =
                Reply::json(&json!({ "error": "no" })).status(status).header("retry-after", "7");
            kit.server.at(double.path, reply);
            let error = search(&ask(&format!("q{status}"), 3), &kit.cx).await.unwrap_err();
            assert_eq!(error.kind, wanted, "{} {status}", double.id);
            assert_eq!(error.extra["status"], status);
            let after = error.extra.get("retry_after_s");
            assert_eq!(after.is_some(), status == 429, "{} {status}", double.id);
        }
        kit.server.at(double.path, Reply::new("text/html", "<h1>not json</h1>"));
        assert_eq!(search(&ask("bad", 3), &kit.cx).await.unwrap_err().kind, "upstream");
        kit.server.at(double.path, Reply::json(&(double.answer)(0, 0)));
        let none = search(&ask("none", 3), &kit.cx).await.unwrap();
        assert!(none["hint"].is_string() && none["success"] == true, "{}", double.id);
    }
}

// Acceptance 93: above the size of a page, up to three are asked for.
#[tokio::test]
async fn e93_many_rows_come_in_pages() {
    for double in DOUBLES.iter().filter(|double| double.pages) {
        let kit = kit(double).await;
        kit.server.at(double.path, Reply::json(&(double.answer)(0, 20)));
        let found = search(&ask("many", 100), &kit.cx).await.unwrap();
        let asked = kit.server.heard();
        assert!((2..=3).contains(&asked.len()) || double.id == "serper", "{}", double.id);
        let places: std::collections::HashSet<_> =
            asked.iter().map(|heard| (heard.line.clone(), heard.body.clone())).collect();
        assert_eq!(places.len(), asked.len(), "{}: each page is another one", double.id);
        assert_eq!(found["limit_applied"], 20, "{}", double.id);
    }
}

// Tavily's own words for no credit, and SearXNG's for a format that it does not give (96).
#[tokio::test]
async fn e96_what_a_service_means_by_a_status() {
    let tavily = &DOUBLES[1];
    let mut kit = kit(tavily).await;
    for status in [432, 433] {
        kit.server.at("/search", Reply::json(&json!({ "detail": "limit" })).status(status));
        let error = search(&ask(&format!("t{status}"), 3), &kit.cx).await.unwrap_err();
        assert_eq!(error.kind, "quota");
    }
    choose(&mut kit, &DOUBLES[6]);
    kit.server.at("/search", Reply::html("forbidden").status(403));
    let error = search(&ask("s", 3), &kit.cx).await.unwrap_err();
    assert!(error.message.contains("search.formats"), "{error}");
    kit.server.at("/search", Reply::json(&(DOUBLES[6].answer)(0, 1)));
    let found = search(&ask("s2", 1), &kit.cx).await.unwrap();
    assert_eq!(found["warnings"], json!(["bing did not answer: timeout"]));
}

const DUCK: &str = r#"<div class="result"><a rel="nofollow" class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fx&amp;rut=1">A <b>page</b></a><a class="result__snippet" href="x">Some words</a></div>"#;

// Acceptance 97: the page without scripts is read, and a challenge is not tried again.
#[tokio::test]
async fn e97_a_challenge_is_left_alone() {
    let mut kit = Kit::start().await;
    let web = json!({ "endpoints": { "ddgs": kit.server.url } });
    kit.set(&web, &[]);
    kit.server.at("/html/", Reply::html(DUCK));
    let found = search(&ask("ducks", 1), &kit.cx).await.unwrap();
    assert_eq!(found["data"]["web"][0]["url"], "https://a.example/x");
    assert!(found["warnings"][0].as_str().unwrap().contains("without a key"));
    let before = kit.server.heard().len();
    kit.server.at("/html/", Reply::html("<form id=challenge-form></form>"));
    assert_eq!(search(&ask("again", 1), &kit.cx).await.unwrap_err().kind, "rate_limited");
    kit.server.at("/html/", Reply::html("").status(202));
    assert_eq!(search(&ask("third", 1), &kit.cx).await.unwrap_err().kind, "rate_limited");
    assert_eq!(kit.server.heard().len(), before + 2);
}

// xAI's rows are a model's words and say so; only when chosen.
#[tokio::test]
async fn rows_that_a_model_wrote_say_so() {
    let mut kit = Kit::start().await;
    let web = json!({ "search_backend": "xai", "endpoints": { "xai": kit.server.url },
        "xai": { "excluded_domains": ["bad.example"] } });
    kit.set(&web, &[("XAI_API_KEY", KEY)]);
    let text = "```json\n{\"results\":[{\"title\":\"A\",\"url\":\"https://a.example/\",\"description\":\"b\"}]}\n```";
    let answer = json!({ "id": "r", "output": [{ "type": "web_search_call" },
        { "type": "message", "content": [{ "type": "output_text", "text": text }] }] });
    kit.server.at("/v1/responses", Reply::json(&answer));
    let found = search(&ask("x", 1), &kit.cx).await.unwrap();
    assert_eq!(found["warnings"], json!(["generated"]));
    let body: Value = serde_json::from_str(&kit.server.heard()[0].body).unwrap();
    assert_eq!(body["tools"][0]["filters"]["excluded_domains"], json!(["bad.example"]));
}

// Acceptance 5, 7: a named service alone is asked; a fallback is asked on 429 and not on 401.
#[tokio::test]
async fn e5_e7_nothing_falls_back_in_silence() {
    let mut kit = Kit::start().await;
    let url = kit.server.url.clone();
    kit.set(
        &json!({ "search_backend": "exa", "endpoints": { "brave": url } }),
        &[("BRAVE_API_KEY", KEY)],
    );
    let error = search(&ask("q", 1), &kit.cx).await.unwrap_err();
    assert_eq!(error.kind, "missing_setup");
    assert!(kit.server.heard().is_empty());
    let web = json!({ "search_backend": "exa", "fallback": ["brave"],
        "endpoints": { "brave": url, "exa": url } });
    kit.set(&web, &[("BRAVE_API_KEY", KEY), ("EXA_API_KEY", KEY)]);
    kit.server.at("/res/v1/web/search", Reply::json(&(DOUBLES[0].answer)(0, 1)));
    kit.server.at("/search", Reply::json(&json!({})).status(429));
    let found = search(&ask("q", 1), &kit.cx).await.unwrap();
    assert_eq!((&found["provider"], &found["fell_back_from"]), (&json!("brave"), &json!("exa")));
    kit.server.at("/search", Reply::json(&json!({})).status(401));
    assert_eq!(search(&ask("other", 1), &kit.cx).await.unwrap_err().kind, "auth");
}
