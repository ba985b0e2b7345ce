//! Those who draw, against doubles of what they publish: the request, the answer, refusals, jobs,
//! cancelling, and the file that is left.
//!
//! The shapes are the vendors' own: OpenAI's OpenAPI document, FAL's TypeScript client (queue and
//! `types/endpoints.ts`), xAI's, DeepInfra's and Google's published clients, Krea's OpenAPI document,
//! and the reference of OpenRouter. No service itself was asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use petasos_contract::ports::Logins;
use petasos_contract::{BoxFuture, CallContext, Secret, Settings};
use petasos_media::MediaError;
use petasos_media::creating::{Aspect, Draw, Drawn, ImageDef, choose, draw};
use petasos_media::images::PAINTERS;
use petasos_media::picture::Picture;
use serde_json::{Value, json};

use crate::desk::{Asked, Desk, Double, Given};

const KEY: &str = "sk-painter-0123456789abcdef";
/// Where a picture is that was handed in.
const ASSET: &str = "https://assets.example/550e8400";
/// A token whose claims name an account.
const RENEWED: &str =
    "e30.eyJodHRwczovL2FwaS5vcGVuYWkuY29tL2F1dGgiOnsiY2hhdGdwdF9hY2NvdW50X2lkIjoiYWNjLTcifX0.x";

fn base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Somebody who is signed in; a token that was refused is renewed.
struct SignedIn;

impl Logins for SignedIn {
    fn is_signed_in(&self, service: &str, _: &Settings) -> bool {
        service == "openai-codex"
    }

    fn access<'a>(
        &'a self,
        _: &'a str,
        _: &'a Settings,
        refused: Option<&'a Secret>,
    ) -> BoxFuture<'a, Result<Secret, String>> {
        let token = if refused.is_some() { RENEWED.to_owned() } else { KEY.to_owned() };
        Box::pin(std::future::ready(Ok(Secret::new(token))))
    }
}

async fn paint(ask: &Draw, cx: &CallContext) -> Result<Drawn, MediaError> {
    let logins: Arc<dyn Logins> = Arc::new(SignedIn);
    draw(ask, Some(&logins), cx).await
}

/// The variable with the key of one who takes keys.
fn keys(def: &ImageDef) -> Vec<(&'static str, &'static str)> {
    def.vendor.keys.first().map(|name| (*name, KEY)).into_iter().collect()
}

/// A picture of four pixels by two.
pub(crate) fn png() -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbImage::new(4, 2).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

fn source() -> Picture {
    Picture { bytes: png(), mime: "image/png", width: 4, height: 2, notes: Vec::new() }
}

fn told(value: &Value) -> Given {
    (200, "application/json", value.to_string().into_bytes())
}

/// A stream of Responses: it begins, brings these, and ends.
fn events(middle: &[Value]) -> Given {
    let begun = json!({ "type": "response.created", "response": { "status": "in_progress" } });
    let ended = json!({ "type": "response.completed", "response": { "status": "completed" } });
    let all = std::iter::once(&begun).chain(middle).chain([&ended]);
    let text = all.map(|event| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    });
    (200, "text/event-stream", text.collect::<String>().into_bytes())
}

/// What a vendor answers to a request, by its line.
fn answer(id: &'static str, url: &str, asked: &Asked) -> Given {
    let line = asked.line.as_str();
    let bytes = || (200, "image/png", png());
    match id {
        _ if line.contains("/files/") => bytes(),
        "openai" | "deepinfra" | "xai" => {
            told(&json!({ "created": 1, "data": [{ "b64_json": base64(&png()) }] }))
        }
        "gemini" => {
            let data = json!({ "mimeType": "image/png", "data": base64(&png()) });
            let content = json!({ "role": "model", "parts": [{ "inlineData": data }] });
            told(&json!({ "candidates": [{ "content": content, "finishReason": "STOP" }] }))
        }
        "openrouter" => {
            let url = format!("data:image/png;base64,{}", base64(&png()));
            let images = json!([{ "type": "image_url", "image_url": { "url": url } }]);
            let message = json!({ "role": "assistant", "content": "", "images": images });
            told(&json!({ "choices": [{ "message": message }], "usage": { "cost": 0.039 } }))
        }
        "openai-codex" => {
            events(&[json!({ "type": "response.output_item.done", "output_index": 0,
            "item": { "type": "image_generation_call", "id": "ig_1", "status": "completed",
                "result": base64(&png()) } })])
        }
        "fal" if line.starts_with("POST") => told(&json!({ "status": "IN_QUEUE",
            "request_id": "req-1", "queue_position": 0,
            "status_url": "https://evil.example/status", "response_url": "https://evil.example/r",
            "cancel_url": "https://evil.example/c" })),
        "fal" if line.contains("/status ") => told(&json!({ "status": "COMPLETED",
            "request_id": "req-1", "response_url": "x", "status_url": "x", "cancel_url": "x" })),
        "fal" => told(&json!({ "images": [{ "url": format!("{url}/files/a.png"),
            "content_type": "image/png" }], "has_nsfw_concepts": [false] })),
        "krea" if line.starts_with("POST /assets ") => told(&json!({ "id": "550e8400-a55e",
            "image_url": ASSET, "uploaded_at": "2026-01-01T00:00:00Z", "width": 4, "height": 2,
            "size_bytes": 70, "mime_type": "image/png" })),
        "krea" if line.starts_with("POST") => told(&json!({ "job_id": "550e8400-e29b",
            "status": "backlogged", "created_at": "2026-01-01T00:00:00Z", "completed_at": null,
            "result": null })),
        "krea" => told(&json!({ "job_id": "550e8400-e29b", "status": "completed",
            "created_at": "2026-01-01T00:00:00Z", "completed_at": "2026-01-01T00:00:09Z",
            "result": { "urls": [format!("{url}/files/b.png")] } })),
        other => (404, "text/plain", format!("{other} has no double").into_bytes()),
    }
}

fn double(id: &'static str) -> Double {
    Double::answering(move |url, asked| answer(id, url, asked))
}

fn desk(id: &str, double: &Double, more: &Value) -> Desk {
    let mut section = json!({ "provider": id, id: { "base_url": double.url } });
    for (key, value) in more.as_object().unwrap() {
        section[key.as_str()] = value.clone();
    }
    let def = PAINTERS.iter().find(|def| def.vendor.id == id).unwrap();
    Desk::with(&json!({ "image_gen": section }), &keys(def))
}

fn ask(sources: usize) -> Draw {
    Draw {
        prompt: "a red kite".to_owned(),
        aspect: Aspect::Square,
        sources: vec![source(); sources],
        ..Draw::default()
    }
}

/// The model of a vendor that edits.
fn editing(id: &str) -> Option<&'static str> {
    let def = PAINTERS.iter().find(|def| def.vendor.id == id)?;
    def.models.iter().find(|model| model.sources > 0).map(|model| model.id)
}

#[tokio::test]
async fn e128_each_painter_is_asked_as_it_publishes_and_its_picture_is_a_file() {
    for def in PAINTERS {
        let id = def.vendor.id;
        let double = double(id);
        let desk = desk(id, &double, &json!({}));
        let drawn = paint(&ask(0), &desk.cx).await.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!((drawn.provider, drawn.width, drawn.height), (id, 4, 2));
        assert_eq!(std::fs::read(&drawn.path).unwrap(), png(), "{id}");
        assert!(drawn.path.starts_with(desk.cx.settings.home().join("cache/images")), "{id}");
        let asked = double.asked();
        let first = &asked[0];
        assert!(first.line.starts_with("POST /"), "{id}: {}", first.line);
        let body: Value = serde_json::from_slice(&first.body).unwrap();
        assert!(body.to_string().contains("a red kite") && !body.to_string().contains(KEY));
        for asked in &asked {
            let has_key = asked.head.contains(KEY);
            // A file is fetched bare, everything else with the key, which is in no address.
            assert_eq!(has_key, !asked.line.contains("/files/"), "{id}: {}", asked.line);
            assert!(!asked.line.contains(KEY), "{id}");
        }
    }
}

#[tokio::test]
async fn e128_each_painter_that_edits_gets_the_picture_to_work_from() {
    let data = base64(&png());
    for def in PAINTERS {
        let id = def.vendor.id;
        let Some(model) = editing(id) else { panic!("{id} edits nothing") };
        let double = double(id);
        let desk = desk(id, &double, &json!({ "model": model }));
        let drawn = paint(&ask(1), &desk.cx).await.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(drawn.model, model);
        let first = &double.asked()[0];
        let bare = first.body.windows(png().len()).any(|window| window == png());
        assert!(bare || String::from_utf8_lossy(&first.body).contains(&data), "{id}");
        let edits = first.line.contains("edit")
            || matches!(id, "gemini" | "openrouter" | "krea" | "openai-codex");
        assert!(edits, "{id}: {}", first.line);
        if id == "krea" {
            let asked: Value = serde_json::from_slice(&double.asked()[1].body).unwrap();
            assert_eq!(asked["image_url"], ASSET, "{asked}");
        }
    }
}

/// Krea took its older names of fields until June 2026. Some models take one picture, others a list.
#[tokio::test]
async fn e128_krea_works_from_pictures_that_were_handed_in() {
    let double = double("krea");
    let desk = desk("krea", &double, &json!({ "model": "google/nano-banana" }));
    paint(&ask(2), &desk.cx).await.unwrap();
    let asked = double.asked();
    let lines: Vec<&str> = asked.iter().map(|asked| asked.line.as_str()).collect();
    assert!(lines[0].starts_with("POST /assets ") && lines[1].starts_with("POST /assets "));
    let body: Value = serde_json::from_slice(&asked[2].body).unwrap();
    assert_eq!(body["image_urls"], json!([ASSET, ASSET]), "{body}");
    assert!(body.get("imageUrls").is_none(), "{body}");
}

/// A picture that could not be handed in is no job: nothing is drawn without it.
#[tokio::test]
async fn e128_what_was_not_handed_in_is_not_worked_from() {
    let double =
        Double::answering(|_, _| (400, "application/json", b"{\"error\":\"size\"}".to_vec()));
    let desk = desk("krea", &double, &json!({ "model": "google/nano-banana" }));
    assert_eq!(paint(&ask(1), &desk.cx).await.unwrap_err().kind, "bad_argument");
    assert_eq!(double.asked().len(), 1);
}

#[tokio::test]
async fn e129_a_model_that_cannot_edit_is_not_asked_to() {
    for (id, model) in [("fal", "fal-ai/z-image/turbo"), ("openai", "dall-e-3"), ("xai", "")] {
        let double = double(id);
        let more = if model.is_empty() { json!({}) } else { json!({ "model": model }) };
        let desk = desk(id, &double, &more);
        let refused = paint(&ask(1), &desk.cx).await.unwrap_err();
        assert_eq!((refused.kind, double.asked().len()), ("unsupported", 0), "{id}");
        assert!(refused.message.contains("choose a model that edits"), "{refused}");
    }
    let double = double("xai");
    let desk = desk("xai", &double, &json!({ "model": "grok-imagine-image-quality" }));
    let refused = paint(&ask(4), &desk.cx).await.unwrap_err();
    assert!(refused.message.contains("at most 3") && double.asked().is_empty(), "{refused}");
}

#[tokio::test]
async fn e128_a_refusal_has_its_word_and_nothing_is_paid_twice() {
    for def in PAINTERS {
        let id = def.vendor.id;
        let policy = r#"{"error":{"code":"content_policy_violation","message":"no"}}"#;
        let refusals = [
            (401, "sorry", "auth"),
            (402, "sorry", "quota"),
            (429, "sorry", "rate_limited"),
            (400, policy, "blocked_policy"),
            (500, "sorry", "upstream"),
            (200, "<html>", "upstream"),
        ];
        for (status, body, kind) in refusals {
            let double = Double::giving(vec![(status, "application/json", body.into())]);
            let desk = desk(id, &double, &json!({}));
            let refused = paint(&ask(0), &desk.cx).await.unwrap_err();
            assert_eq!(refused.kind, kind, "{id} {status}");
            // A token that was refused cost nothing: it is shown once more, renewed.
            let most = if def.login.is_some() && status == 401 { 2 } else { 1 };
            assert_eq!(double.asked().len(), most, "{id}: what may cost is asked once");
        }
    }
}

#[tokio::test]
async fn e128_a_refusal_inside_an_answer_is_one() {
    let feedback = json!({ "promptFeedback": { "blockReason": "SAFETY" } });
    let finish = json!({ "candidates": [{ "finishReason": "IMAGE_SAFETY" }] });
    let moderated = json!({ "data": [{ "url": "x", "respect_moderation": false }] });
    let said = json!({ "choices": [{ "message": { "refusal": "I will not draw that" } }] });
    let answers =
        [("gemini", feedback), ("gemini", finish), ("xai", moderated), ("openrouter", said)];
    for (id, answer) in answers {
        let double = Double::giving(vec![told(&answer)]);
        let refused = paint(&ask(0), &desk(id, &double, &json!({})).cx).await.unwrap_err();
        assert_eq!(refused.kind, "blocked_policy", "{id}: {refused}");
    }
}

/// ChatGPT: a refused token is renewed once, the account goes along, and what the model says in the
/// place of a picture is told.
#[tokio::test]
async fn e128_a_login_of_chatgpt_draws_and_is_renewed_once() {
    let double = Double::answering(|url, asked| {
        if asked.head.contains(RENEWED) {
            return answer("openai-codex", url, asked);
        }
        (401, "application/json", b"{}".to_vec())
    });
    let first = desk("openai-codex", &double, &json!({}));
    let made = paint(&ask(0), &first.cx).await.unwrap();
    assert_eq!((made.provider, made.width), ("openai-codex", 4));
    let asked = double.asked();
    assert_eq!(asked.len(), 2);
    assert!(asked[1].head.contains("chatgpt-account-id: acc-7"), "{}", asked[1].head);
    assert!(asked[1].line.starts_with("POST /responses "), "{}", asked[1].line);
    let item = |part: Value| {
        let item = json!({ "type": "message", "content": [part] });
        events(&[json!({ "type": "response.output_item.done", "item": item })])
    };
    let failed = |code: &str| {
        let error = json!({ "code": code, "message": "no" });
        events(&[json!({ "type": "response.failed", "response": { "error": error } })])
    };
    for (given, kind) in [
        (item(json!({ "type": "refusal", "refusal": "I will not" })), "blocked_policy"),
        (item(json!({ "type": "output_text", "text": "Which kite?" })), "upstream"),
        (failed("content_policy_violation"), "blocked_policy"),
        (failed("server_error"), "upstream"),
        (events(&[]), "upstream"),
    ] {
        let double = Double::giving(vec![given]);
        let refused = paint(&ask(0), &desk("openai-codex", &double, &json!({})).cx).await;
        assert_eq!((refused.unwrap_err().kind, double.asked().len()), (kind, 1));
    }
    let nobody = draw(&ask(0), None, &first.cx).await.unwrap_err();
    let told = "needs image_gen.provider and its login: petasos auth login openai-codex";
    assert_eq!((nobody.kind, nobody.message.as_str()), ("missing_setup", told));
}

#[tokio::test]
async fn e8_a_status_address_of_a_stranger_gets_no_key_and_a_strangers_file_is_fetched_bare() {
    let double = double("fal");
    let desk = desk("fal", &double, &json!({}));
    paint(&ask(0), &desk.cx).await.unwrap();
    let lines: Vec<String> = double.asked().into_iter().map(|asked| asked.line).collect();
    assert!(lines.contains(&"GET /fal-ai/flux-2/requests/req-1/status HTTP/1.1".to_owned()));
    // An address of a private network in an answer is not fetched.
    let evil = json!({ "data": [{ "url": "http://127.0.0.1:9/secret.png" }] });
    let double = Double::giving(vec![told(&evil)]);
    let refused = paint(&ask(0), &self::desk("openai", &double, &json!({})).cx).await.unwrap_err();
    assert_eq!(refused.kind, "blocked_address", "{refused}");
}

#[tokio::test]
async fn e7_another_painter_is_asked_when_one_is_busy_and_not_when_its_key_is_bad() {
    let busy = Double::giving(vec![(429, "application/json", b"{}".to_vec())]);
    let ready = double("gemini");
    let settings = |first: &str| {
        json!({ "image_gen": { "provider": "openai", "fallback": ["gemini"],
            "openai": { "base_url": first }, "gemini": { "base_url": ready.url } } })
    };
    let keys = [("OPENAI_API_KEY", KEY), ("GEMINI_API_KEY", KEY)];
    let desk = Desk::with(&settings(&busy.url), &keys);
    let drawn = paint(&ask(0), &desk.cx).await.unwrap();
    assert_eq!((drawn.provider, drawn.fell_back_from.as_slice()), ("gemini", &["openai"][..]));
    let trace = choose(&desk.cx.settings, None).trace.join("\n");
    assert!(trace.contains("image_gen.fallback names `gemini`"), "{trace}");
    let bad = Double::giving(vec![(401, "application/json", b"{}".to_vec())]);
    let desk = Desk::with(&settings(&bad.url), &keys);
    assert_eq!(paint(&ask(0), &desk.cx).await.unwrap_err().kind, "auth");
    assert_eq!(ready.asked().len(), 1);
}

#[tokio::test]
async fn e5_e6_nobody_is_paid_unasked() {
    let desk = Desk::with(&json!({}), &[("OPENAI_API_KEY", KEY), ("FAL_KEY", KEY)]);
    assert_eq!(paint(&ask(0), &desk.cx).await.unwrap_err().message, "needs image_gen.provider");
    let keyless = Desk::with(&json!({ "image_gen": { "provider": "fal" } }), &[]);
    let why = choose(&keyless.cx.settings, None).chosen.unwrap_err();
    assert_eq!(why, "needs image_gen.provider and its key FAL_KEY");
}

#[tokio::test]
async fn e128_e10_a_cancel_is_heard_at_once_and_told_to_the_queue() {
    let double = Double::answering(|_, asked| match asked.line.as_str() {
        line if line.starts_with("POST") => told(&json!({ "request_id": "req-9" })),
        line if line.starts_with("PUT") => told(&json!({ "status": "CANCELLATION_REQUESTED" })),
        _ => told(&json!({ "status": "IN_PROGRESS", "logs": [] })),
    });
    let desk = desk("fal", &double, &json!({}));
    let cancelled = cancel_soon(&desk.cx, &double).await;
    assert_eq!(cancelled.0.kind, "cancelled");
    assert!(cancelled.0.message.contains("may be charged"), "{}", cancelled.0);
    assert_eq!(cancelled.0.extra["request_id"], "req-9");
    assert!(cancelled.1 < Duration::from_secs(1), "{:?}", cancelled.1);
    let asked = double.asked();
    let puts = asked.iter().filter(|asked| asked.line.starts_with("PUT")).count();
    let posts = asked.iter().filter(|asked| asked.line.starts_with("POST")).count();
    assert_eq!((posts, puts), (1, 1));
    assert!(
        asked
            .iter()
            .any(|asked| { asked.line == "PUT /fal-ai/flux-2/requests/req-9/cancel HTTP/1.1" })
    );
}

/// Cancels as soon as a job is asked about; how long the answer to that took.
async fn cancel_soon(cx: &CallContext, double: &Double) -> (MediaError, Duration) {
    let cancel = cx.cancel.clone();
    let polled = async {
        while double.asked().len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        cancel.cancel();
        Instant::now()
    };
    let ask = ask(0);
    let (refused, since) = tokio::join!(paint(&ask, cx), polled);
    (refused.unwrap_err(), since.elapsed())
}

/// E12: whatever bytes a vendor says, a result is JSON.
#[tokio::test]
async fn e12_odd_letters_in_a_vendors_answer_give_a_result_that_can_be_read() {
    let bodies: [&[u8]; 4] = [
        br#"{"error":{"message":"\ud83d alone, \u0000 and \u202e"}}"#,
        "{\"error\":{\"message\":\"пожалуйста 日本\"}}".as_bytes(),
        b"\xff\xfe\x00 no utf-8 \xed\xa0\x80",
        b"<html>\x1b[31mred</html>",
    ];
    for body in bodies {
        let double = Double::giving(vec![(400, "application/json", body.to_vec())]);
        let refused = paint(&ask(0), &desk("openai", &double, &json!({})).cx).await.unwrap_err();
        assert_eq!(refused.kind, "bad_argument");
        let told = serde_json::to_string(&refused.told()).unwrap();
        let back: Value = serde_json::from_str(&told).unwrap();
        assert_eq!(
            (&back["success"], &back["error_type"]),
            (&json!(false), &json!("bad_argument"))
        );
        let detail = back["detail"].as_str().unwrap_or_default();
        assert!(!detail.contains(['\u{0}', '\u{1b}']), "{detail:?}");
        assert!(detail.chars().count() <= 300);
    }
}

/// E10, E11: each one that is waited for hears of a cancel within a second, and nothing that may
/// cost is asked again.
#[tokio::test]
async fn e10_e11_a_cancel_is_heard_while_any_painter_is_waited_for() {
    for def in PAINTERS {
        let id = def.vendor.id;
        // It takes the request and says nothing.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let section = json!({ "provider": id, id: { "base_url": url } });
        let desk = Desk::with(&json!({ "image_gen": section }), &keys(def));
        let cancel = desk.cx.cancel.clone();
        let reached = tokio::task::spawn_blocking(move || {
            let taken = listener.accept().unwrap();
            (listener, taken)
        });
        let since = async {
            let kept = reached.await.unwrap();
            cancel.cancel();
            (Instant::now(), kept)
        };
        let ask = ask(0);
        let (refused, (since, (listener, _taken))) = tokio::join!(paint(&ask, &desk.cx), since);
        assert_eq!(refused.unwrap_err().kind, "cancelled", "{id}");
        assert!(since.elapsed() < Duration::from_secs(1), "{id}: {:?}", since.elapsed());
        listener.set_nonblocking(true).unwrap();
        assert!(listener.accept().is_err(), "{id} was asked again");
    }
}
