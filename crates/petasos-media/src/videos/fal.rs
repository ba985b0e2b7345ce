//! FAL: families of models with one path for words and one for a first frame. What a family does
//! not know is left out and told.

use serde_json::{Map, Value};

use crate::course::{Course, Made, Nothing};
use crate::falqueue::{FAL, queue};
use crate::filming::{Asked, Film, Task, VideoDef, VideoModel};
use crate::vendor::{Answer, Body, Outgoing};

pub(super) static FILMER: VideoDef = VideoDef {
    vendor: FAL,
    models: &[
        VideoModel { id: "pixverse-v6", cents: 8, seconds: 5 },
        VideoModel { id: "ltx-2.3", cents: 8, seconds: 6 },
        VideoModel { id: "veo3.1", cents: 40, seconds: 8 },
        VideoModel { id: "seedance-2.0", cents: 35, seconds: 5 },
        VideoModel { id: "kling-v3-4k", cents: 60, seconds: 5 },
        VideoModel { id: "happy-horse", cents: 20, seconds: 5 },
    ],
    outgoing,
    course: Course::Queued(queue(made)),
};

/// A family, by its published parameters.
struct Family {
    name: &'static str,
    words: &'static str,
    frame: &'static str,
    /// What the first frame is called.
    image: &'static str,
    durations: &'static [u32],
    duration: Form,
    ratios: &'static [&'static str],
    resolutions: &'static [&'static str],
    audio: Option<&'static str>,
    negative: bool,
    seed: bool,
}

/// How a length is written.
#[derive(Clone, Copy)]
enum Form {
    Number,
    Text,
    WithS,
}

const UP_TO_15: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const FROM_3: &[u32] = &[3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const FROM_4: &[u32] = &[4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

const FAMILIES: &[Family] = &[
    Family {
        name: "pixverse-v6",
        words: "fal-ai/pixverse/v6/text-to-video",
        frame: "fal-ai/pixverse/v6/image-to-video",
        image: "image_url",
        durations: UP_TO_15,
        duration: Form::Number,
        ratios: &["16:9", "4:3", "1:1", "3:4", "9:16", "2:3", "3:2", "21:9"],
        resolutions: &["360p", "540p", "720p", "1080p"],
        audio: Some("generate_audio_switch"),
        negative: true,
        seed: true,
    },
    Family {
        name: "ltx-2.3",
        words: "fal-ai/ltx-2.3/text-to-video",
        frame: "fal-ai/ltx-2.3/image-to-video",
        image: "image_url",
        durations: &[6, 8, 10],
        duration: Form::Number,
        ratios: &["16:9", "9:16"],
        resolutions: &["1080p", "1440p", "2160p"],
        audio: Some("generate_audio"),
        negative: false,
        seed: false,
    },
    Family {
        name: "veo3.1",
        words: "fal-ai/veo3.1",
        frame: "fal-ai/veo3.1/image-to-video",
        image: "image_url",
        durations: &[4, 6, 8],
        duration: Form::WithS,
        ratios: &["16:9", "9:16"],
        resolutions: &["720p", "1080p", "4k"],
        audio: Some("generate_audio"),
        negative: true,
        seed: true,
    },
    Family {
        name: "seedance-2.0",
        words: "bytedance/seedance-2.0/text-to-video",
        frame: "bytedance/seedance-2.0/image-to-video",
        image: "image_url",
        durations: FROM_4,
        duration: Form::Text,
        ratios: &["21:9", "16:9", "4:3", "1:1", "3:4", "9:16"],
        resolutions: &["480p", "720p", "1080p", "4k"],
        audio: Some("generate_audio"),
        negative: false,
        seed: false,
    },
    Family {
        name: "kling-v3-4k",
        words: "fal-ai/kling-video/v3/4k/text-to-video",
        frame: "fal-ai/kling-video/v3/4k/image-to-video",
        image: "start_image_url",
        durations: FROM_3,
        duration: Form::Text,
        ratios: &["16:9", "9:16", "1:1"],
        resolutions: &[],
        audio: Some("generate_audio"),
        negative: true,
        seed: false,
    },
    Family {
        name: "happy-horse",
        words: "alibaba/happy-horse/text-to-video",
        frame: "alibaba/happy-horse/image-to-video",
        image: "image_url",
        durations: FROM_3,
        duration: Form::Number,
        ratios: &["16:9", "9:16", "1:1", "4:3", "3:4"],
        resolutions: &["720p", "1080p"],
        audio: None,
        negative: false,
        seed: true,
    },
];

fn outgoing(film: &Film) -> Result<Asked, String> {
    if film.task != Task::Create {
        return Err("fal makes new films only".to_owned());
    }
    let family = FAMILIES.iter().find(|family| family.name == film.model).ok_or_else(|| {
        let known: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        format!("`{}` is none of fal's families: {}", film.model, known.join(", "))
    })?;
    if !film.references.is_empty() {
        return Err(format!("{} takes a first frame and no references", family.name));
    }
    let mut asking = Asking { family, body: Map::new(), notes: Vec::new() };
    asking.put("prompt", film.prompt.clone());
    let seconds = asking.duration(film.duration);
    if let Some(image) = &film.image {
        asking.put(family.image, image.data_url());
    } else {
        asking.one_of("aspect_ratio", &film.aspect_ratio, family.ratios);
    }
    let resolution = asking.one_of("resolution", &film.resolution, family.resolutions);
    let given = [
        ("audio", family.audio, film.audio.map(Value::from)),
        (
            "negative_prompt",
            family.negative.then_some("negative_prompt"),
            film.negative_prompt.clone().map(Value::from),
        ),
        ("seed", family.seed.then_some("seed"), film.seed.map(Value::from)),
    ];
    for (name, key, value) in given {
        match (key, value) {
            (_, None) => {}
            (Some(key), Some(value)) => asking.put(key, value),
            (None, Some(_)) => {
                asking
                    .notes
                    .push(format!("`{name}` is left out: {} does not know it", family.name));
            }
        }
    }
    let path = if film.image.is_some() { family.frame } else { family.words };
    let outgoing =
        Outgoing { path: format!("/{path}"), body: Body::Json(Value::Object(asking.body)) };
    Ok(Asked { outgoing, duration: seconds, resolution, notes: asking.notes })
}

struct Asking<'a> {
    family: &'a Family,
    body: Map<String, Value>,
    notes: Vec<String>,
}

impl Asking<'_> {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.body.insert(key.to_owned(), value.into());
    }

    /// The nearest length that the family makes.
    fn duration(&mut self, wanted: Option<u32>) -> Option<u32> {
        let wanted = wanted?;
        let kept =
            self.family.durations.iter().copied().min_by_key(|known| known.abs_diff(wanted))?;
        if kept != wanted {
            let told = format!("{wanted} s became {kept} s: {} makes no other", self.family.name);
            self.notes.push(told);
        }
        match self.family.duration {
            Form::Number => self.put("duration", kept),
            Form::Text => self.put("duration", kept.to_string()),
            Form::WithS => self.put("duration", format!("{kept}s")),
        }
        Some(kept)
    }

    fn one_of(&mut self, key: &str, wanted: &str, known: &[&str]) -> Option<String> {
        if wanted.is_empty() {
            return None;
        }
        if known.contains(&wanted) {
            self.put(key, wanted);
            return Some(wanted.to_owned());
        }
        let told = format!("`{key}` {wanted} is left out: {} does not make it", self.family.name);
        self.notes.push(told);
        None
    }
}

fn made(answer: &Answer) -> Result<Made, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    let url = body["video"]["url"].as_str();
    let mut made = Made::at(url.ok_or_else(|| Nothing::unusable("it has no `video.url`"))?)?;
    made.seconds = body["video"]["duration"].as_f64();
    Ok(made)
}
