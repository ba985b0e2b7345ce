//! OpenRouter: chat completions with the modalities image and text; `message.images[]`.

use serde_json::{Value, json};

use crate::course::{Course, Made, Nothing};
use crate::creating::{Draw, ImageDef, ImageModel};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

pub(super) static PAINTER: ImageDef = ImageDef {
    vendor: Vendor {
        id: "openrouter",
        keys: &["OPENROUTER_API_KEY"],
        base: "https://openrouter.ai/api/v1",
        header: KeyHeader::Bearer,
    },
    login: None,
    stage: None,
    variable: Some("OPENROUTER_IMAGE_MODEL"),
    models: &[
        ImageModel { id: "google/gemini-2.5-flash-image", sources: 3, cents: 4 },
        ImageModel { id: "openai/gpt-5-image-mini", sources: 16, cents: 10 },
    ],
    outgoing,
    course: Course::Once(made),
};

fn outgoing(draw: &Draw) -> Outgoing {
    let mut content = vec![json!({ "type": "text", "text": draw.prompt })];
    content.extend(
        draw.sources.iter().map(
            |source| json!({ "type": "image_url", "image_url": { "url": source.data_url() } }),
        ),
    );
    let body = json!({
        "model": draw.model,
        "messages": [{ "role": "user", "content": content }],
        "modalities": ["image", "text"],
        "image_config": { "aspect_ratio": draw.aspect.ratio() },
        "stream": false,
    });
    Outgoing { path: "/chat/completions".to_owned(), body: Body::Json(body) }
}

fn made(answer: &Answer) -> Result<Made, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    if let Some(why) = body["error"]["message"].as_str() {
        return Err(Nothing::Failed(why.to_owned()));
    }
    let message = &body["choices"][0]["message"];
    let url = message["images"][0]["image_url"]["url"].as_str();
    let Some(url) = url else {
        let said = message["refusal"].as_str().map(|why| Nothing::Refused(why.to_owned()));
        let said = said.unwrap_or_else(|| {
            let text = message["content"].as_str().unwrap_or("`images` holds nothing");
            Nothing::unusable(text)
        });
        return Err(said);
    };
    let mut made = Made::at(url)?;
    made.cents = body["usage"]["cost"].as_f64().or_else(|| cost(&body)).map(|usd| usd * 100.0);
    Ok(made)
}

fn cost(body: &Value) -> Option<f64> {
    body["usage"]["cost_details"]["upstream_inference_cost"].as_f64()
}
