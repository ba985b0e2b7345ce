//! The Feishu tools against a stand-in that knows the published interface. E19 150.

use std::sync::atomic::{AtomicU32, Ordering};

use petasos_contract::effect::Effect;
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::double::{Double, Said, Seen};

const TABLE: &str = include_str!("../doubles/feishu.json");
const KEY: &str = "/open-apis/auth/v3/tenant_access_token/internal";

/// An app whose tokens are numbered; each holds for so many seconds.
fn app(expire: u64, answer: impl Fn(&Seen) -> Said + Send + Sync + 'static) -> Double {
    let given = AtomicU32::new(0);
    Double::start(TABLE, "", move |seen| {
        if seen.path == KEY {
            assert_eq!(seen.body, json!({ "app_id": "cli_a", "app_secret": "s3cret" }));
            let number = given.fetch_add(1, Ordering::SeqCst);
            return Said::ok(
                json!({ "code": 0, "msg": "ok", "tenant_access_token": format!("t-{number}"), "expire": expire }),
            );
        }
        assert!(seen.headers["authorization"].starts_with("Bearer t-"));
        answer(seen)
    })
}

fn bench(double: &Double) -> Bench {
    let settings = json!({ "services": { "endpoints": { "feishu": double.url } } });
    Bench::set_up(&settings, &[("FEISHU_APP_ID", "cli_a"), ("FEISHU_APP_SECRET", "s3cret")])
}

fn good(data: &Value) -> Said {
    Said::ok(json!({ "code": 0, "msg": "success", "data": data }))
}

#[test]
fn documents_and_comments_are_read_and_written() {
    let double = app(7200, |seen| match seen.line().as_str() {
        "GET /open-apis/docx/v1/documents/doxA/raw_content" => {
            good(&json!({ "content": "Hüte\n" }))
        }
        "GET /open-apis/drive/v1/files/doxA/comments" => {
            good(&json!({ "items": [{ "comment_id": "7" }], "has_more": true, "page_token": "p2" }))
        }
        "GET /open-apis/drive/v1/files/doxA/comments/7/replies" => {
            good(&json!({ "items": [], "has_more": false }))
        }
        _ => good(&json!({ "comment_id": "8" })),
    });
    let bench = bench(&double);
    assert_eq!(
        bench.run("feishu_doc_read", &json!({ "doc_token": "doxA" })),
        json!({ "success": true, "content": "Hüte\n" })
    );
    let listed = bench.run(
        "feishu_drive_list_comments",
        &json!({ "file_token": "doxA", "is_whole": true, "page_size": 500 }),
    );
    assert_eq!(
        (&listed["items"][0]["comment_id"], &listed["page_token"]),
        (&json!("7"), &json!("p2"))
    );
    bench.run(
        "feishu_drive_list_comment_replies",
        &json!({ "file_token": "doxA", "comment_id": "7", "page_token": "p2" }),
    );
    let added =
        bench.run("feishu_drive_add_comment", &json!({ "file_token": "doxA", "content": "Gut" }));
    assert_eq!(added, json!({ "success": true, "data": { "comment_id": "8" } }));
    bench.run(
        "feishu_drive_reply_comment",
        &json!({ "file_token": "doxA", "comment_id": "7", "content": "Ja" }),
    );
    let seen = double.seen();
    assert_eq!(seen.iter().filter(|it| it.path == KEY).count(), 1, "one token for all");
    let words = "/reply_list/replies/0/content/elements/0/text_run/text";
    assert_eq!(seen[4].body.pointer(words), Some(&json!("Gut")));
    assert_eq!(seen[2].query["page_size"], "100");
    let effects =
        bench.effects("feishu_drive_add_comment", &json!({ "file_token": "doxA", "content": "x" }));
    assert!(effects.iter().any(|it| *it == Effect::Send { target: "feishu:doxA".to_owned() }));
}

#[test]
fn e150_a_token_is_renewed_early_and_when_it_is_refused() {
    // Two minutes are less than the five by which it is renewed early.
    let double = app(120, |_| good(&json!({ "content": "x" })));
    let early = bench(&double);
    for _ in 0..2 {
        early.run("feishu_doc_read", &json!({ "doc_token": "doxA" }));
    }
    assert_eq!(double.lines().iter().filter(|line| line.ends_with("internal")).count(), 2);
    let double = app(7200, |seen| match seen.headers["authorization"].as_str() {
        "Bearer t-0" => {
            Said::status(400, json!({ "code": 99_991_663, "msg": "Invalid access token" }))
        }
        _ => good(&json!({ "content": "again" })),
    });
    let bench = bench(&double);
    assert_eq!(bench.run("feishu_doc_read", &json!({ "doc_token": "doxA" }))["content"], "again");
    assert_eq!(double.lines().len(), 4);
}

#[test]
fn e150_codes_are_told() {
    let double = app(7200, |seen| match seen.method.as_str() {
        "POST" => Said::ok(json!({ "code": 1_069_302, "msg": "comment reply not allowed" })),
        _ if seen.path.ends_with("comments") => Said::status(502, json!("bad gateway")),
        _ => Said::ok(json!({ "code": 1_770_032, "msg": "forBidden" })),
    });
    let feishu = bench(&double);
    let reply = feishu.run(
        "feishu_drive_reply_comment",
        &json!({ "file_token": "doxA", "comment_id": "7", "content": "x" }),
    );
    assert_eq!(reply["error_type"], "upstream");
    assert!(reply["hint"].as_str().unwrap().contains("add_comment"), "{reply}");
    let read = feishu.run("feishu_doc_read", &json!({ "doc_token": "doxA" }));
    assert_eq!(
        (&read["error_type"], &read["code"]),
        (&json!("upstream"), &json!(1_770_032)),
        "{read}"
    );
    let broken = feishu.run("feishu_drive_list_comments", &json!({ "file_token": "doxA" }));
    assert_eq!(
        (&broken["error_type"], &broken["status"]),
        (&json!("upstream"), &json!(502)),
        "{broken}"
    );
    for bad in [json!({ "doc_token": "../x" }), json!({ "doc_token": "" })] {
        assert_eq!(feishu.run("feishu_doc_read", &bad)["error_type"], "bad_argument");
    }
    let half = Bench::set_up(&json!({}), &[("FEISHU_APP_ID", "cli_a")]);
    assert_eq!(
        half.run("feishu_doc_read", &json!({ "doc_token": "x" }))["missing"],
        json!(["FEISHU_APP_SECRET"])
    );
    let wrong = Double::start(TABLE, "", |_| {
        Said::ok(json!({ "code": 10014, "msg": "app secret invalid" }))
    });
    let refused = bench(&wrong).run("feishu_doc_read", &json!({ "doc_token": "doxA" }));
    assert_eq!(refused["error_type"], "auth", "{refused}");
    assert!(!refused.to_string().contains("s3cret"));
}
