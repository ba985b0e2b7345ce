//! DeepInfra: OpenAI's shape at another address.

use serde_json::json;

use crate::course::{Course, Made, Nothing};
use crate::creating::{Draw, ImageDef, ImageModel};
use crate::vendor::{Body, KeyHeader, Outgoing, Upload, Vendor};

pub(super) static PAINTER: ImageDef = ImageDef {
    vendor: Vendor {
        id: "deepinfra",
        keys: &["DEEPINFRA_API_KEY"],
        base: "https://api.deepinfra.com/v1/openai",
        header: KeyHeader::Bearer,
    },
    login: None,
    stage: None,
    variable: None,
    models: &[
        ImageModel { id: "black-forest-labs/FLUX-1-schnell", sources: 0, cents: 1 },
        ImageModel { id: "black-forest-labs/FLUX.1-Kontext-dev", sources: 1, cents: 3 },
        ImageModel { id: "Qwen/Qwen-Image-Edit", sources: 1, cents: 5 },
    ],
    outgoing,
    course: Course::Once(|answer| Made::listed(&answer.json().map_err(Nothing::unusable)?)),
};

fn outgoing(draw: &Draw) -> Outgoing {
    let size = draw.aspect.pixels();
    let Some(source) = draw.sources.first() else {
        let body = json!({ "model": draw.model, "prompt": draw.prompt, "n": 1, "size": size,
            "response_format": "b64_json" });
        return Outgoing { path: "/images/generations".to_owned(), body: Body::Json(body) };
    };
    let fields = [("model", draw.model.as_str()), ("prompt", &draw.prompt), ("size", size)];
    let fields = fields.map(|(name, value)| (name, value.to_owned())).to_vec();
    let file = Upload {
        field: "image",
        name: format!("source.{}", if source.mime == "image/png" { "png" } else { "jpg" }),
        mime: source.mime.to_owned(),
        bytes: source.bytes.clone(),
    };
    Outgoing { path: "/images/edits".to_owned(), body: Body::Form(fields, vec![file]) }
}
