//! xAI: `POST /v1/images/generations`, with sources `/v1/images/edits`.

use serde_json::{Value, json};

use crate::course::{Course, Made, Nothing, ticks};
use crate::creating::{Draw, ImageDef, ImageModel};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

pub(super) static PAINTER: ImageDef = ImageDef {
    vendor: Vendor {
        id: "xai",
        keys: &["XAI_API_KEY"],
        base: "https://api.x.ai/v1",
        header: KeyHeader::Bearer,
    },
    login: None,
    stage: None,
    variable: None,
    models: &[
        ImageModel { id: "grok-imagine-image", sources: 0, cents: 2 },
        ImageModel { id: "grok-imagine-image-quality", sources: 3, cents: 14 },
    ],
    outgoing,
    course: Course::Once(made),
};

fn outgoing(draw: &Draw) -> Outgoing {
    let mut body = json!({ "model": draw.model, "prompt": draw.prompt, "n": 1,
        "response_format": "b64_json", "aspect_ratio": draw.aspect.ratio() });
    let urls: Vec<Value> = draw
        .sources
        .iter()
        .map(|source| json!({ "url": source.data_url(), "type": "image_url" }))
        .collect();
    let (path, extra) = match urls.as_slice() {
        [] => ("/images/generations", None),
        [one] => ("/images/edits", Some(("image", one.clone()))),
        _ => ("/images/edits", Some(("images", urls.into()))),
    };
    if let (Some((key, value)), Some(object)) = (extra, body.as_object_mut()) {
        object.insert(key.to_owned(), value);
    }
    Outgoing { path: path.to_owned(), body: Body::Json(body) }
}

fn made(answer: &Answer) -> Result<Made, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    let mut made = Made::listed(&body)?;
    made.cents = ticks(&body);
    Ok(made)
}
