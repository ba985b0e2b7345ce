//! OpenAI: `POST /v1/images/generations`, with sources `/v1/images/edits`; the quality is part of
//! our names of its models.

use serde_json::json;

use crate::course::{Course, Made, Nothing};
use crate::creating::{Draw, ImageDef, ImageModel};
use crate::vendor::{Body, KeyHeader, Outgoing, Upload, Vendor};

pub(super) static PAINTER: ImageDef = ImageDef {
    vendor: Vendor {
        id: "openai",
        keys: &["OPENAI_API_KEY"],
        base: "https://api.openai.com/v1",
        header: KeyHeader::Bearer,
    },
    login: None,
    stage: None,
    variable: Some("OPENAI_IMAGE_MODEL"),
    models: &[
        ImageModel { id: "gpt-image-2-medium", sources: 16, cents: 6 },
        ImageModel { id: "gpt-image-2-low", sources: 16, cents: 2 },
        ImageModel { id: "gpt-image-2-high", sources: 16, cents: 25 },
        ImageModel { id: "gpt-image-1.5", sources: 16, cents: 20 },
        ImageModel { id: "gpt-image-1-mini", sources: 16, cents: 6 },
        ImageModel { id: "dall-e-3", sources: 0, cents: 12 },
    ],
    outgoing,
    course: Course::Once(|answer| Made::listed(&answer.json().map_err(Nothing::unusable)?)),
};

/// The vendor's name of a model, and the quality that ours has at its end.
pub(super) fn named(model: &str) -> (&str, Option<&'static str>) {
    for quality in ["low", "medium", "high"] {
        if let Some(plain) = model.strip_suffix(quality).and_then(|rest| rest.strip_suffix('-')) {
            return (plain, Some(quality));
        }
    }
    (model, None)
}

fn outgoing(draw: &Draw) -> Outgoing {
    let (model, quality) = named(&draw.model);
    let is_older = model.starts_with("dall-e");
    let size = match (is_older, draw.aspect.pixels()) {
        (true, "1536x1024") => "1792x1024",
        (true, "1024x1536") => "1024x1792",
        (_, size) => size,
    };
    if draw.sources.is_empty() {
        let mut body = json!({ "model": model, "prompt": draw.prompt, "n": 1, "size": size });
        let extra = quality.map(|quality| ("quality", quality));
        // Newer models always answer in base64 and refuse to be told so.
        let extra = extra.or_else(|| is_older.then_some(("response_format", "b64_json")));
        if let (Some((key, value)), Some(object)) = (extra, body.as_object_mut()) {
            object.insert(key.to_owned(), value.into());
        }
        return Outgoing { path: "/images/generations".to_owned(), body: Body::Json(body) };
    }
    let mut fields = vec![
        ("model", model.to_owned()),
        ("prompt", draw.prompt.clone()),
        ("n", "1".to_owned()),
        ("size", size.to_owned()),
    ];
    fields.extend(quality.map(|quality| ("quality", quality.to_owned())));
    let field = if draw.sources.len() == 1 { "image" } else { "image[]" };
    let files = draw.sources.iter().enumerate().map(|(at, source)| Upload {
        field,
        name: format!("source{at}.{}", if source.mime == "image/png" { "png" } else { "jpg" }),
        mime: source.mime.to_owned(),
        bytes: source.bytes.clone(),
    });
    Outgoing { path: "/images/edits".to_owned(), body: Body::Form(fields, files.collect()) }
}
