//! Gemini: `generateContent` with the modality image; the picture comes back in base64.

use serde_json::{Value, json};

use crate::course::{Course, Made, Nothing};
use crate::creating::{Draw, ImageDef, ImageModel};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

pub(super) static PAINTER: ImageDef = ImageDef {
    vendor: Vendor {
        id: "gemini",
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        base: "https://generativelanguage.googleapis.com/v1beta",
        header: KeyHeader::Named("x-goog-api-key"),
    },
    login: None,
    stage: None,
    variable: None,
    models: &[
        ImageModel { id: "gemini-2.5-flash-image", sources: 3, cents: 4 },
        ImageModel { id: "gemini-3-pro-image-preview", sources: 14, cents: 24 },
    ],
    outgoing,
    course: Course::Once(made),
};

fn outgoing(draw: &Draw) -> Outgoing {
    use base64::Engine as _;
    let data = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut parts = vec![json!({ "text": draw.prompt })];
    parts.extend(draw.sources.iter().map(
        |source| json!({ "inlineData": { "mimeType": source.mime, "data": data(&source.bytes) } }),
    ));
    let body = json!({
        "contents": [{ "role": "user", "parts": parts }],
        "generationConfig": {
            "responseModalities": ["IMAGE"],
            "imageConfig": { "aspectRatio": draw.aspect.ratio() },
        },
    });
    Outgoing { path: format!("/models/{}:generateContent", draw.model), body: Body::Json(body) }
}

fn made(answer: &Answer) -> Result<Made, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    if let Some(why) = body["promptFeedback"]["blockReason"].as_str() {
        return Err(Nothing::Refused(why.to_owned()));
    }
    let first = &body["candidates"][0];
    let parts = first["content"]["parts"].as_array();
    let data = parts.into_iter().flatten().find_map(|part| part["inlineData"]["data"].as_str());
    match (data, first["finishReason"].as_str()) {
        (Some(data), _) => Made::base64(data),
        (None, Some(why)) if is_refusal(why) => {
            let said = first["finishMessage"].as_str().unwrap_or(why);
            Err(Nothing::Refused(said.to_owned()))
        }
        (None, why) => {
            let said = parts.and_then(|parts| parts.first()?.get("text").and_then(Value::as_str));
            Err(Nothing::unusable(said.or(why).unwrap_or("no part has `inlineData`")))
        }
    }
}

fn is_refusal(why: &str) -> bool {
    why.contains("SAFETY") || why.contains("PROHIBITED") || why == "RECITATION" || why == "SPII"
}
