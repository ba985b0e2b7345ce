//! DeepInfra: `POST /v1/inference/<model>`; the answer names the film.

use serde_json::json;

use crate::course::{Course, Made, Nothing};
use crate::filming::{Asked, Film, Task, VideoDef, VideoModel};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

pub(super) static FILMER: VideoDef = VideoDef {
    vendor: Vendor {
        id: "deepinfra",
        keys: &["DEEPINFRA_API_KEY"],
        base: "https://api.deepinfra.com/v1/inference",
        header: KeyHeader::Bearer,
    },
    models: &[
        VideoModel { id: "Wan-AI/Wan2.1-T2V-1.3B", cents: 10, seconds: 5 },
        VideoModel { id: "Wan-AI/Wan2.1-T2V-14B", cents: 20, seconds: 5 },
    ],
    outgoing,
    course: Course::Once(made),
};

fn outgoing(film: &Film) -> Result<Asked, String> {
    if film.task != Task::Create || film.image.is_some() || !film.references.is_empty() {
        return Err(format!("{} of deepinfra makes films from words only", film.model));
    }
    let mut body = json!({ "prompt": film.prompt });
    if let Some(object) = body.as_object_mut() {
        let seed = film.seed.map(|seed| ("seed", seed.into()));
        let not = film.negative_prompt.clone().map(|not| ("negative_prompt", not.into()));
        let extra = seed.into_iter().chain(not);
        object.extend(extra.map(|(key, value)| (key.to_owned(), value)));
    }
    let mut notes = vec!["the length, shape and resolution are the model's own".to_owned()];
    if film.audio == Some(true) {
        notes.push("`audio` is left out: the model makes none".to_owned());
    }
    let outgoing = Outgoing { path: format!("/{}", film.model), body: Body::Json(body) };
    Ok(Asked { outgoing, duration: None, resolution: None, notes })
}

fn made(answer: &Answer) -> Result<Made, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    let url = body["video_url"].as_str().or_else(|| body["video"].as_str());
    let mut made = Made::at(url.ok_or_else(|| Nothing::unusable("it has no `video_url`"))?)?;
    made.cents = body["inference_status"]["cost"].as_f64().map(|usd| usd * 100.0);
    Ok(made)
}
