//! FAL: a queue for each model; the picture is fetched from its storage.

use serde_json::{Value, json};

use crate::course::{Course, Made, Nothing};
use crate::creating::{Aspect, Draw, ImageDef, ImageModel};
use crate::falqueue::{FAL, queue};
use crate::picture::Picture;
use crate::vendor::{Answer, Body, Outgoing};

pub(super) static PAINTER: ImageDef = ImageDef {
    vendor: FAL,
    login: None,
    stage: None,
    variable: None,
    models: &[
        ImageModel { id: "fal-ai/flux-2/klein/9b", sources: 4, cents: 2 },
        ImageModel { id: "fal-ai/flux-2-pro", sources: 8, cents: 8 },
        ImageModel { id: "fal-ai/z-image/turbo", sources: 0, cents: 1 },
        ImageModel { id: "fal-ai/nano-banana-pro", sources: 14, cents: 15 },
        ImageModel { id: "fal-ai/nano-banana-2", sources: 14, cents: 8 },
        ImageModel { id: "openai/gpt-image-2", sources: 16, cents: 25 },
        ImageModel { id: "fal-ai/gpt-image-1.5", sources: 16, cents: 20 },
        ImageModel { id: "fal-ai/ideogram/v3", sources: 0, cents: 9 },
        ImageModel { id: "fal-ai/recraft/v3/text-to-image", sources: 0, cents: 8 },
        ImageModel { id: "fal-ai/qwen-image-2/text-to-image", sources: 3, cents: 5 },
        ImageModel { id: "fal-ai/bytedance/seedream/v4.5/text-to-image", sources: 10, cents: 4 },
    ],
    outgoing,
    course: Course::Queued(queue(made)),
};

/// How a model is told the shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    /// `image_size` by a word.
    Preset,
    /// `aspect_ratio`.
    Ratio,
    /// `image_size` in pixels.
    Literal,
}

fn size(model: &str) -> Size {
    match model {
        _ if model.contains("nano-banana") => Size::Ratio,
        "fal-ai/gpt-image-1.5" => Size::Literal,
        _ => Size::Preset,
    }
}

/// Where a model edits.
fn edits(model: &str) -> String {
    match model.strip_suffix("/text-to-image") {
        Some(family) => format!("{family}/edit"),
        None => format!("{model}/edit"),
    }
}

fn outgoing(draw: &Draw) -> Outgoing {
    let (key, value) = match (size(&draw.model), draw.aspect) {
        (Size::Ratio, aspect) => ("aspect_ratio", aspect.ratio()),
        (Size::Literal, aspect) => ("image_size", aspect.pixels()),
        (Size::Preset, Aspect::Landscape) => ("image_size", "landscape_16_9"),
        (Size::Preset, Aspect::Square) => ("image_size", "square_hd"),
        (Size::Preset, Aspect::Portrait) => ("image_size", "portrait_16_9"),
    };
    let mut body = json!({ "prompt": draw.prompt, key: value });
    if draw.sources.is_empty() {
        return Outgoing { path: format!("/{}", draw.model), body: Body::Json(body) };
    }
    let urls: Vec<Value> = draw.sources.iter().map(Picture::data_url).map(Value::from).collect();
    body["image_urls"] = urls.into();
    Outgoing { path: format!("/{}", edits(&draw.model)), body: Body::Json(body) }
}

fn made(answer: &Answer) -> Result<Made, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    if body["has_nsfw_concepts"][0] == Value::Bool(true) {
        return Err(Nothing::Refused("its own check refused what it made".to_owned()));
    }
    let url = body["images"][0]["url"].as_str();
    Made::at(url.ok_or_else(|| Nothing::unusable("`images` is empty"))?)
}
