//! Those who film, against doubles of what they publish: jobs that are asked about, that end late,
//! that fail, and what a family does not know.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::jobs::{JobEvent, Jobs};
use petasos_contract::ports::Ports;
use petasos_media::filming::{Film, Filmed, Task, choose, edits, film};
use petasos_media::picture::Picture;
use petasos_media::{Media, MediaError};
use petasos_terminal::Engine;
use serde_json::{Value, json};

use crate::desk::{Asked, Desk, Double, Given};
use crate::painters::png;

const KEY: &str = "sk-filmer-0123456789abcdef";
/// The beginning of an MP4 file.
const MP4: &[u8] = b"\0\0\0\x18ftypisom\0\0\0\0isommp42";

fn told(value: &Value) -> Given {
    (200, "application/json", value.to_string().into_bytes())
}

/// The job is asked about so often before it ends.
fn double(id: &'static str, waits: usize) -> Double {
    let mut looked = 0;
    Double::answering(move |url, asked| {
        let line = asked.line.as_str();
        if line.contains("/files/") {
            return (200, "video/mp4", MP4.to_vec());
        }
        if line.starts_with("POST") {
            // The page of the vendor shows an address without its host.
            let film = json!({ "video_url": "/files/a.mp4", "seed": "7", "request_id": null,
                "inference_status": { "status": "succeeded", "runtime_ms": 9, "cost": 0.25 } });
            let queued = json!({ "request_id": "job-1", "status": "IN_QUEUE" });
            return told(if id == "deepinfra" { &film } else { &queued });
        }
        let is_state = id == "xai" || line.contains("/status ");
        looked += usize::from(is_state);
        let is_done = looked > waits;
        let video = json!({ "url": format!("{url}/files/b.mp4"), "duration": 5.0 });
        told(&match (id, is_state, is_done) {
            ("fal", true, false) => json!({ "status": "IN_PROGRESS", "logs": [] }),
            ("fal", true, true) => json!({ "status": "COMPLETED", "logs": [] }),
            ("fal", false, _) => json!({ "video": video }),
            (_, _, false) => json!({ "status": "pending", "progress": 12 }),
            _ => json!({ "status": "done", "video": video,
                "usage": { "cost_in_usd_ticks": 2_500_000_000_i64 } }),
        })
    })
}

fn desk(id: &str, double: &Double, more: &Value) -> Desk {
    let mut section = json!({ "provider": id, id: { "base_url": double.url } });
    for (key, value) in more.as_object().unwrap() {
        section[key.as_str()] = value.clone();
    }
    let variable = match id {
        "fal" => "FAL_KEY",
        "xai" => "XAI_API_KEY",
        _ => "DEEPINFRA_API_KEY",
    };
    Desk::with(&json!({ "video_gen": section }), &[(variable, KEY)])
}

fn ask() -> Film {
    Film {
        prompt: "a kite rises".to_owned(),
        aspect_ratio: "16:9".to_owned(),
        resolution: "720p".to_owned(),
        ..Film::default()
    }
}

async fn filmed(desk: &Desk, ask: &Film) -> Result<Filmed, MediaError> {
    let filmer = choose(&desk.cx.settings).chosen.unwrap();
    film(&filmer, ask, (&Media::default(), None), &desk.cx).await
}

fn body(asked: &Asked) -> Value {
    serde_json::from_slice(&asked.body).unwrap()
}

#[tokio::test]
async fn e130_each_filmer_is_asked_polled_and_its_film_is_a_file() {
    for id in ["fal", "xai", "deepinfra"] {
        let double = double(id, 2);
        let desk = desk(id, &double, &json!({}));
        let made = filmed(&desk, &ask()).await.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(std::fs::read(&made.path).unwrap(), MP4, "{id}");
        assert!(made.path.starts_with(desk.cx.settings.home().join("cache/videos")), "{id}");
        assert_eq!(made.request_id.is_some(), id != "deepinfra", "{id}");
        let asked = double.asked();
        let posts = asked.iter().filter(|asked| asked.line.starts_with("POST")).count();
        assert_eq!(posts, 1, "{id}: what is paid for is asked once");
        assert_eq!(body(&asked[0])["prompt"], "a kite rises", "{id}");
        for asked in &asked {
            assert_eq!(asked.head.contains(KEY), !asked.line.contains("/files/"), "{id}");
        }
    }
}

#[tokio::test]
async fn e130_what_a_family_does_not_know_is_left_out_and_told() {
    let families = [
        ("pixverse-v6", 40, json!(15), "/fal-ai/pixverse/v6/text-to-video"),
        ("ltx-2.3", 7, json!(6), "/fal-ai/ltx-2.3/text-to-video"),
        ("veo3.1", 7, json!("6s"), "/fal-ai/veo3.1"),
        ("seedance-2.0", 2, json!("4"), "/bytedance/seedance-2.0/text-to-video"),
        ("kling-v3-4k", 5, json!("5"), "/fal-ai/kling-video/v3/4k/text-to-video"),
        ("happy-horse", 99, json!(15), "/alibaba/happy-horse/text-to-video"),
    ];
    for (model, wanted, sent, path) in families {
        let double = double("fal", 0);
        let desk = desk("fal", &double, &json!({ "model": model }));
        let ask = Film { duration: Some(wanted), seed: Some(3), ..ask() };
        let made = filmed(&desk, &ask).await.unwrap();
        let first = &double.asked()[0];
        assert_eq!(first.line, format!("POST {path} HTTP/1.1"));
        assert_eq!(body(first)["duration"], sent, "{model}");
        let knows_seed = body(first).get("seed").is_some();
        let is_told = made.notes.iter().any(|note| note.starts_with("`seed` is left out"));
        assert!(knows_seed != is_told, "{model}: {:?}", made.notes);
        let changed = made.notes.iter().any(|note| note.contains(" became "));
        assert_eq!(changed, model != "kling-v3-4k", "{model}: {:?}", made.notes);
    }
    let picture =
        Picture { bytes: png(), mime: "image/png", width: 4, height: 2, notes: Vec::new() };
    let double = double("fal", 0);
    let desk = desk("fal", &double, &json!({ "model": "kling-v3-4k" }));
    filmed(&desk, &Film { image: Some(picture), ..ask() }).await.unwrap();
    let first = &double.asked()[0];
    assert!(first.line.contains("/v3/4k/image-to-video"), "{}", first.line);
    assert!(body(first)["start_image_url"].as_str().unwrap().starts_with("data:image/png"));
}

#[tokio::test]
async fn e130_films_are_changed_by_the_one_vendor_that_does_so_when_it_is_named() {
    let url = "https://films.example/a.mp4".to_owned();
    let tasks = [
        (Task::Edit(url.clone()), "/videos/edits", None),
        (Task::Extend(url.clone()), "/videos/extensions", Some(6)),
    ];
    for (task, path, seconds) in tasks {
        let double = double("xai", 0);
        let desk = desk("xai", &double, &json!({}));
        assert!(edits(&desk.cx.settings).is_ok());
        let made = filmed(&desk, &Film { task, ..ask() }).await.unwrap();
        let first = &double.asked()[0];
        assert_eq!(first.line, format!("POST {path} HTTP/1.1"));
        assert_eq!(body(first)["video"]["url"], url.as_str());
        assert_eq!(body(first).get("duration").and_then(Value::as_u64), seconds);
        assert_eq!(made.cents, Some(25.0));
    }
    let double = double("fal", 0);
    let why = edits(&desk("fal", &double, &json!({})).cx.settings).unwrap_err();
    assert!(why.starts_with("needs video_gen.provider: xai"), "{why}");
}

#[tokio::test]
async fn e130_a_job_that_fails_says_so_and_one_expired_too() {
    for (id, state, kind) in [
        ("xai", json!({ "status": "failed", "error": { "message": "no frames" } }), "upstream"),
        ("xai", json!({ "status": "expired" }), "upstream"),
        (
            "xai",
            json!({ "status": "done", "video": { "url": "x", "respect_moderation": false } }),
            "blocked_policy",
        ),
        ("fal", json!({ "status": "COMPLETED", "error": "out of memory" }), "upstream"),
    ] {
        let double = Double::answering(move |_, asked| {
            let begun = json!({ "request_id": "job-2" });
            told(if asked.line.starts_with("POST") { &begun } else { &state })
        });
        let refused = filmed(&desk(id, &double, &json!({})), &ask()).await.unwrap_err();
        assert_eq!((refused.kind, &refused.extra["request_id"]), (kind, &json!("job-2")), "{id}");
    }
}

#[tokio::test]
async fn e130_a_late_job_goes_on_and_its_end_is_told() {
    let double = double("fal", 5);
    let desk = desk("fal", &double, &json!({ "timeout": 1 }));
    let mut ports = Ports::default();
    let engine = Engine::new(None);
    engine.fill(&mut ports);
    let jobs: Arc<dyn Jobs> = ports.jobs.clone().unwrap();
    let media = Media::default();
    let filmer = choose(&desk.cx.settings).chosen.unwrap();
    let late = film(&filmer, &ask(), (&media, Some(&jobs)), &desk.cx).await.unwrap_err();
    assert_eq!((late.kind, &late.extra["request_id"]), ("timeout", &json!("job-1")));
    assert!(late.message.contains("goes on"), "{late}");
    tokio::time::timeout(Duration::from_mins(1), jobs.changed(&desk.cx.session)).await.unwrap();
    let told = jobs.drain(&desk.cx.session);
    let [JobEvent::Completion { exit_code, output, .. }] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!(*exit_code, 0, "{output}");
    let path = output.lines().last().unwrap().strip_prefix("MEDIA:").unwrap();
    assert_eq!(std::fs::read(path).unwrap(), MP4);
    let asked = double.asked();
    let begun = asked.iter().filter(|asked| asked.line.starts_with("POST")).count();
    assert_eq!(begun, 1);
}

#[tokio::test]
async fn e6_only_a_key_that_is_for_films_alone_is_consent() {
    let desk = Desk::with(&json!({}), &[("XAI_API_KEY", KEY), ("DEEPINFRA_API_KEY", KEY)]);
    assert_eq!(choose(&desk.cx.settings).chosen.unwrap_err(), "needs video_gen.provider");
    let desk = Desk::with(&json!({}), &[("FAL_KEY", KEY)]);
    assert_eq!(choose(&desk.cx.settings).chosen.unwrap().id(), "fal");
}
