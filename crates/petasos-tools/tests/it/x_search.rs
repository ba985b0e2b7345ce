//! `x_search` against a stand-in that knows the published interface. E19 153.

use std::sync::atomic::{AtomicU32, Ordering};

use petasos_contract::effect::Effect;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::double::{Double, Said};

const TABLE: &str = include_str!("../doubles/xai.json");

fn bench(double: &Double, settings: Value) -> Bench {
    let mut settings = settings;
    settings["services"] = json!({ "endpoints": { "xai": double.url } });
    Bench::set_up(&settings, &[("XAI_API_KEY", "xai-key")])
}

#[expect(clippy::needless_pass_by_value, reason = "callers write JSON in place")]
fn reply(text: &str, annotations: Value, citations: Value) -> Value {
    json!({ "id": "r1", "citations": citations, "output": [
        { "type": "custom_tool_call", "name": "x_keyword_search" },
        { "type": "message", "role": "assistant", "content": [
            { "type": "output_text", "text": text, "annotations": annotations }] }] })
}

#[test]
fn a_search_gives_the_answer_with_its_posts() {
    let double = Double::start(TABLE, "/v1", |seen| {
        assert_eq!(seen.headers["authorization"], "Bearer xai-key");
        let cited = json!([{ "type": "url_citation", "url": "https://x.com/a/status/1", "title": "1", "start_index": 0, "end_index": 4 }]);
        Said::ok(reply(
            "Hats",
            cited,
            json!(["https://x.com/a/status/1", "https://x.com/b/status/2"]),
        ))
    });
    let bench = bench(&double, json!({ "x_search": { "reasoning_effort": "low" } }));
    let found = bench.run(
        "x_search",
        &json!({ "query": "hats", "allowed_x_handles": ["@ada", "bob"],
        "from_date": "2026-01-01", "to_date": "2026-01-31", "enable_image_understanding": true }),
    );
    assert_eq!(
        (&found["answer"], &found["degraded"], &found["degraded_reason"]),
        (&json!("Hats"), &json!(false), &Value::Null)
    );
    assert_eq!(found["citations"], json!(["https://x.com/a/status/1", "https://x.com/b/status/2"]));
    assert_eq!(
        found["inline_citations"],
        json!([{ "url": "https://x.com/a/status/1", "title": "1", "start_index": 0, "end_index": 4 }])
    );
    assert_eq!(
        found["sources"][1],
        json!({ "source_id": "w2", "url": "https://x.com/b/status/2" })
    );
    assert_eq!(
        (&found["provider"], &found["credential_source"], &found["model"]),
        (&json!("xai"), &json!("XAI_API_KEY"), &json!("grok-4.5"))
    );
    assert_eq!(
        double.seen()[0].body,
        json!({ "model": "grok-4.5", "input": [{ "role": "user", "content": "hats" }],
        "tools": [{ "type": "x_search", "allowed_x_handles": ["ada", "bob"], "from_date": "2026-01-01",
            "to_date": "2026-01-31", "enable_image_understanding": true }],
        "store": false, "reasoning": { "effort": "low" } })
    );
    let effects: Vec<Effect> =
        bench.effects("x_search", &json!({ "query": "x" })).iter().cloned().collect();
    assert_eq!(effects, [Effect::Reach("127.0.0.1".to_owned()), Effect::Spend { cents: 10 }]);
}

#[test]
fn e153_dates_and_handles_are_checked_before_anything_is_asked() {
    let double = Double::start(TABLE, "/v1", |_| Said::ok(reply("", json!([]), json!([]))));
    let bench = bench(&double, json!({}));
    let many: Vec<String> = (0..11).map(|at| format!("u{at}")).collect();
    for bad in [
        json!({ "query": "" }),
        json!({ "query": "x", "from_date": "2026-02-30" }),
        json!({ "query": "x", "from_date": "2026-02-01", "to_date": "2026-01-01" }),
        json!({ "query": "x", "from_date": "2999-01-01" }),
        json!({ "query": "x", "allowed_x_handles": ["a"], "excluded_x_handles": ["b"] }),
        json!({ "query": "x", "allowed_x_handles": many }),
        json!({ "query": "x", "excluded_x_handles": ["not a handle"] }),
    ] {
        assert_eq!(bench.run("x_search", &bad)["error_type"], "bad_argument", "{bad}");
    }
    assert!(double.seen().is_empty());
}

#[test]
fn e153_a_narrowed_search_without_posts_is_degraded() {
    let double =
        Double::start(TABLE, "/v1", |_| Said::ok(reply("I think so", json!([]), json!([]))));
    let bench = bench(&double, json!({}));
    let narrowed = bench.run("x_search", &json!({ "query": "x", "excluded_x_handles": ["bob"] }));
    assert_eq!(narrowed["degraded"], true);
    assert!(narrowed["degraded_reason"].as_str().unwrap().contains("no post was cited"));
    assert_eq!(bench.run("x_search", &json!({ "query": "x" }))["degraded"], false);
}

#[test]
fn e153_only_a_failure_of_the_vendor_is_tried_again() {
    let tries = AtomicU32::new(0);
    let double = Double::start(TABLE, "/v1", move |_| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => Said::status(503, json!({ "error": "overloaded" })),
        _ => Said::ok(reply("x", json!([]), json!([]))),
    });
    assert_eq!(
        bench(&double, json!({})).run("x_search", &json!({ "query": "x" }))["success"],
        true
    );
    assert_eq!(double.lines().len(), 2);
    for (status, kind) in [(400, "upstream"), (401, "auth"), (429, "rate_limited")] {
        let double =
            Double::start(TABLE, "/v1", move |_| Said::status(status, json!({ "error": "no" })));
        let refused = bench(&double, json!({})).run("x_search", &json!({ "query": "x" }));
        assert_eq!((&refused["error_type"], double.lines().len()), (&json!(kind), 1), "{refused}");
    }
    let down = Double::start(TABLE, "/v1", |_| Said::status(500, Value::Null));
    let gone = bench(&down, json!({ "x_search": { "retries": 0 } }))
        .run("x_search", &json!({ "query": "x" }));
    assert_eq!((&gone["error_type"], down.lines().len()), (&json!("upstream"), 1));
}
