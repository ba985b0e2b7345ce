//! xAI: `POST /v1/videos/{generations,edits,extensions}` gives a request, `GET /v1/videos/<id>`
//! tells how far it is.

use serde_json::{Map, Value, json};

use crate::course::{Course, Made, Nothing, Queue, State, Ticket, ticks};
use crate::filming::{Asked, Film, Task, VideoDef, VideoModel};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

const REFERENCES_MAX: usize = 7;

pub(super) static FILMER: VideoDef = VideoDef {
    vendor: Vendor {
        id: "xai",
        keys: &["XAI_API_KEY"],
        base: "https://api.x.ai/v1",
        header: KeyHeader::Bearer,
    },
    models: &[
        VideoModel { id: "grok-imagine-video", cents: 7, seconds: 8 },
        VideoModel { id: "grok-imagine-video-1.5", cents: 14, seconds: 8 },
    ],
    outgoing,
    course: Course::Queued(Queue {
        ticket,
        look: |ticket| ticket.get(""),
        state,
        collect: None,
        made,
        cancel: None,
    }),
};

fn outgoing(film: &Film) -> Result<Asked, String> {
    let mut notes = Vec::new();
    let mut body = Map::new();
    body.insert("model".to_owned(), film.model.clone().into());
    body.insert("prompt".to_owned(), film.prompt.clone().into());
    let clamp = |usual: u32, most: u32, notes: &mut Vec<String>| {
        let wanted = film.duration.unwrap_or(usual);
        let kept = wanted.clamp(1, most);
        if kept != wanted {
            notes.push(format!("{wanted} s became {kept} s: films have 1 to {most} s"));
        }
        kept
    };
    let (path, duration) = match &film.task {
        Task::Create => {
            let seconds = clamp(8, 15, &mut notes);
            body.insert("aspect_ratio".to_owned(), film.aspect_ratio.clone().into());
            (String::from("/videos/generations"), Some(seconds))
        }
        Task::Edit(url) => {
            body.insert("video".to_owned(), json!({ "url": url }));
            (String::from("/videos/edits"), None)
        }
        Task::Extend(url) => {
            body.insert("video".to_owned(), json!({ "url": url }));
            (String::from("/videos/extensions"), Some(clamp(6, 10, &mut notes)))
        }
    };
    if let Some(seconds) = duration {
        body.insert("duration".to_owned(), seconds.into());
    }
    let resolution = (film.task == Task::Create).then(|| fine(film, &mut notes));
    if let Some(resolution) = resolution {
        body.insert("resolution".to_owned(), resolution.into());
    }
    if let Some(image) = &film.image {
        body.insert("image".to_owned(), json!({ "url": image.data_url() }));
    }
    if film.references.len() > REFERENCES_MAX {
        let given = film.references.len();
        return Err(format!("xai takes at most {REFERENCES_MAX} references, {given} were given"));
    }
    if !film.references.is_empty() {
        let urls = film.references.iter().map(|picture| json!({ "url": picture.data_url() }));
        body.insert("reference_images".to_owned(), urls.collect());
    }
    let left = [
        ("negative_prompt", film.negative_prompt.is_some()),
        ("audio", film.audio.is_some()),
        ("seed", film.seed.is_some()),
    ];
    notes.extend(
        left.iter()
            .filter(|(_, set)| *set)
            .map(|(name, _)| format!("`{name}` is left out: xai does not know it")),
    );
    let outgoing = Outgoing { path, body: Body::Json(Value::Object(body)) };
    Ok(Asked { outgoing, duration, resolution: resolution.map(str::to_owned), notes })
}

fn fine(film: &Film, notes: &mut Vec<String>) -> &'static str {
    match film.resolution.as_str() {
        "480p" => "480p",
        "1080p" if film.model == "grok-imagine-video-1.5" && film.references.is_empty() => "1080p",
        "720p" => "720p",
        other => {
            notes.push(format!("{other} became 720p: {} does not make it", film.model));
            "720p"
        }
    }
}

fn ticket(answer: &Answer, _: &str) -> Result<Ticket, String> {
    let body = answer.json()?;
    let id = body["request_id"].as_str().ok_or("it has no `request_id`")?;
    Ok(Ticket { id: id.to_owned(), path: format!("/videos/{id}") })
}

fn state(answer: &Answer) -> Result<State, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    match body["status"].as_str() {
        Some("done") => Ok(State::Ended),
        None if body["video"]["url"].is_string() => Ok(State::Ended),
        Some(how @ ("failed" | "error" | "expired" | "cancelled")) => {
            let why = body["error"]["message"].as_str().unwrap_or(how);
            Err(Nothing::Failed(why.to_owned()))
        }
        _ => Ok(State::Waits),
    }
}

fn made(answer: &Answer) -> Result<Made, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    let video = &body["video"];
    if video["respect_moderation"] == Value::Bool(false) {
        return Err(Nothing::Refused("its own check refused what it made".to_owned()));
    }
    let url = video["url"].as_str().ok_or_else(|| Nothing::unusable("it has no `video.url`"))?;
    let mut made = Made::at(url)?;
    made.seconds = video["duration"].as_f64();
    made.cents = ticks(&body);
    Ok(made)
}
