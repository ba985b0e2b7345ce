//! Requests against what vendors publish: no field that they do not name, none missing that they
//! require. `tests/data/schemas.json` holds the names, taken from the documents that it cites.

use std::collections::{BTreeMap, BTreeSet};

use petasos_media::creating::{Draw, ImageDef};
use petasos_media::filming::{Film, Task};
use petasos_media::hearing::HEARINGS;
use petasos_media::images::PAINTERS;
use petasos_media::picture::Picture;
use petasos_media::speaking::{Way, Wish};
use petasos_media::speech::VOICES;
use petasos_media::transcribing::{Heed, Listens};
use petasos_media::vendor::{Body, Outgoing, Upload};
use petasos_media::videos::FILMERS;
use serde::Deserialize;

use crate::painters::png;

#[derive(Deserialize)]
struct Schema {
    properties: BTreeSet<String>,
    required: BTreeSet<String>,
}

fn published() -> BTreeMap<String, Schema> {
    serde_json::from_str(include_str!("../data/schemas.json")).unwrap()
}

/// The names of what is sent.
fn names(outgoing: &Outgoing) -> BTreeSet<String> {
    match &outgoing.body {
        Body::Json(value) | Body::Signed(_, value) => {
            value.as_object().unwrap().keys().cloned().collect()
        }
        Body::Form(fields, files) => {
            let fields = fields.iter().map(|(name, _)| (*name).to_owned());
            // A list in a form is its name with brackets.
            let files = files.iter().map(|file| file.field.trim_end_matches("[]").to_owned());
            fields.chain(files).collect()
        }
        Body::None | Body::Put | Body::Delete => BTreeSet::new(),
    }
}

#[track_caller]
fn fits(operation: &str, outgoing: &Outgoing) {
    let all = published();
    let schema = all.get(operation);
    assert!(schema.is_some(), "`{operation}` is not in the data");
    let schema = schema.unwrap();
    let sent = names(outgoing);
    let strange: Vec<_> = sent.difference(&schema.properties).collect();
    assert!(strange.is_empty(), "{operation} does not know {strange:?}");
    let missing: Vec<_> = schema.required.difference(&sent).collect();
    assert!(missing.is_empty(), "{operation} requires {missing:?}");
}

fn picture() -> Picture {
    Picture { bytes: png(), mime: "image/png", width: 4, height: 2, notes: Vec::new() }
}

fn drawn(def: &ImageDef, model: &str, sources: usize) -> Outgoing {
    let prompt = "a kite".to_owned();
    let addresses = vec!["https://pictures.example/a.png".to_owned(); sources];
    let sources = vec![picture(); sources];
    (def.outgoing)(&Draw { prompt, sources, addresses, model: model.to_owned(), ..Draw::default() })
}

#[test]
fn e128_what_painters_are_asked_has_the_published_fields() {
    for def in PAINTERS {
        let id = def.vendor.id;
        for model in def.models {
            for sources in [0, model.sources.min(2)] {
                let outgoing = drawn(def, model.id, sources);
                let path = outgoing.path.trim_start_matches('/').to_owned();
                match id {
                    "openai" | "xai" | "fal" => fits(&format!("{id} {path}"), &outgoing),
                    // OpenAI's shape at another address.
                    "deepinfra" => fits(&format!("openai {path}"), &outgoing),
                    "gemini" => fits("gemini generateContent", &outgoing),
                    "openai-codex" => {
                        fits("openai responses", &outgoing);
                        let Body::Json(body) = &outgoing.body else { panic!("it is JSON") };
                        let tool = Body::Json(body["tools"][0].clone());
                        let tool = Outgoing { path: String::new(), body: tool };
                        fits("openai responses image_generation", &tool);
                    }
                    "openrouter" => fits("openrouter chat/completions", &outgoing),
                    "krea" => {
                        fits(&format!("krea {path}"), &outgoing);
                        let stage = def.stage.expect("it takes addresses");
                        fits("krea assets", &(stage.outgoing)(&picture()));
                    }
                    _ => panic!("{id} is not looked at"),
                }
            }
        }
    }
}

#[test]
fn e130_what_filmers_are_asked_has_the_published_fields() {
    let film = |model: &str| Film {
        prompt: "a kite".to_owned(),
        duration: Some(6),
        aspect_ratio: "16:9".to_owned(),
        resolution: "720p".to_owned(),
        negative_prompt: Some("rain".to_owned()),
        audio: Some(true),
        seed: Some(1),
        model: model.to_owned(),
        ..Film::default()
    };
    for def in FILMERS {
        let id = def.vendor.id;
        for model in def.models {
            let url = "https://films.example/a.mp4".to_owned();
            let films = [
                film(model.id),
                Film { image: Some(picture()), ..film(model.id) },
                Film { task: Task::Edit(url.clone()), ..film(model.id) },
                Film { task: Task::Extend(url), ..film(model.id) },
            ];
            for film in films {
                let Ok(asked) = (def.outgoing)(&film) else { continue };
                let path = asked.outgoing.path.trim_start_matches('/').to_owned();
                let published = match id {
                    "deepinfra" => "deepinfra text-to-video".to_owned(),
                    _ => format!("{id} {path}"),
                };
                fits(&published, &asked.outgoing);
            }
        }
    }
}

#[test]
fn what_voices_and_recognisers_are_asked_has_the_published_fields() {
    let both = VOICES.iter().flat_map(|voice| [(voice, true), (voice, false)]);
    for (voice, opus) in both {
        let Way::Cloud { outgoing, .. } = &voice.way else { continue };
        let wish = Wish { speed: Some(1.2), opus, ..Wish::default() };
        let outgoing = outgoing("hello", &wish);
        match voice.id {
            "openai" | "deepinfra" => fits("openai audio/speech", &outgoing),
            "mistral" => fits("mistral audio/speech", &outgoing),
            "elevenlabs" => fits("elevenlabs text-to-speech", &outgoing),
            "gemini" => fits("gemini generateContent", &outgoing),
            "xai" => fits("xai tts", &outgoing),
            "minimax" => {
                fits("minimax t2a_v2", &outgoing);
                let Body::Json(body) = &outgoing.body else { panic!("it is JSON") };
                for part in ["voice_setting", "audio_setting"] {
                    let body = Body::Json(body[part].clone());
                    let part = format!("minimax t2a_v2 {part}");
                    fits(&part, &Outgoing { path: String::new(), body });
                }
                let format = body["audio_setting"]["format"].as_str();
                assert_eq!(format, Some(if opus { "opus" } else { "mp3" }));
            }
            other => panic!("{other} is not looked at"),
        }
    }
    for hearing in HEARINGS {
        let Listens::Cloud { outgoing, .. } = &hearing.way else { continue };
        let upload = Upload {
            field: "file",
            name: "a.wav".to_owned(),
            mime: "audio/wav".to_owned(),
            bytes: Vec::new(),
        };
        let heed = Heed { language: Some("en".to_owned()), ..Heed::default() };
        let outgoing = outgoing(upload, &heed);
        match hearing.id {
            "openai" | "groq" | "deepinfra" => fits("openai audio/transcriptions", &outgoing),
            "mistral" => fits("mistral audio/transcriptions", &outgoing),
            "elevenlabs" => fits("elevenlabs speech-to-text", &outgoing),
            "xai" => fits("xai stt", &outgoing),
            other => panic!("{other} is not looked at"),
        }
    }
}
