//! ChatGPT by its login: Responses with the tool that draws, as a stream. The subscription pays.

use serde_json::{Value, json};

use super::openai;
use crate::course::{Course, Made, Nothing};
use crate::creating::{Draw, ImageDef, ImageModel};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

pub(super) static PAINTER: ImageDef = ImageDef {
    vendor: Vendor {
        id: "openai-codex",
        keys: &[],
        base: "https://chatgpt.com/backend-api/codex",
        header: KeyHeader::Bearer,
    },
    login: Some("openai-codex"),
    stage: None,
    variable: Some("OPENAI_IMAGE_MODEL"),
    models: &[
        ImageModel { id: "gpt-image-2-medium", sources: 16, cents: 0 },
        ImageModel { id: "gpt-image-2-low", sources: 16, cents: 0 },
        ImageModel { id: "gpt-image-2-high", sources: 16, cents: 0 },
    ],
    outgoing,
    course: Course::Once(made),
};

/// The model that calls the tool; it neither draws nor answers.
const CALLER: &str = "gpt-5.6-sol";
const ORDER: &str = "Call the image tool once, with the words of the user as they are.";
/// Parts of the codes with which content is refused.
const REFUSALS: [&str; 3] = ["content_policy", "moderation", "safety"];

fn outgoing(draw: &Draw) -> Outgoing {
    let (model, quality) = openai::named(&draw.model);
    let mut tool = json!({ "type": "image_generation", "model": model,
        "size": draw.aspect.pixels(), "output_format": "png" });
    if let (Some(quality), Some(tool)) = (quality, tool.as_object_mut()) {
        tool.insert("quality".to_owned(), quality.into());
    }
    let mut content = vec![json!({ "type": "input_text", "text": draw.prompt })];
    let sources = draw.sources.iter();
    content.extend(
        sources.map(|source| json!({ "type": "input_image", "image_url": source.data_url() })),
    );
    let body = json!({
        "model": CALLER,
        "instructions": ORDER,
        "input": [{ "role": "user", "content": content }],
        "tools": [tool],
        "tool_choice": { "type": "image_generation" },
        "store": false,
        "stream": true,
    });
    Outgoing { path: "/responses".to_owned(), body: Body::Json(body) }
}

fn made(answer: &Answer) -> Result<Made, Nothing> {
    let text = String::from_utf8_lossy(&answer.bytes);
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let events = data.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
    let mut said = Nothing::unusable("there is no picture in it");
    for event in events {
        match event["type"].as_str().unwrap_or_default() {
            "response.output_item.done" => match drawn(&event["item"]) {
                Some(picture) => return Made::base64(picture),
                None => said = words(&event["item"]).unwrap_or(said),
            },
            "response.failed" => return Err(failed(&event["response"]["error"])),
            "error" => return Err(failed(&event)),
            _ => {}
        }
    }
    Err(said)
}

/// The picture of an item, where it holds one.
fn drawn(item: &Value) -> Option<&str> {
    let is_picture = item["type"] == "image_generation_call";
    item["result"].as_str().filter(|result| is_picture && !result.is_empty())
}

/// What the model says in the place of a picture.
fn words(item: &Value) -> Option<Nothing> {
    let part = item["content"].as_array()?.first()?;
    let refused = part["refusal"].as_str().map(|why| Nothing::Refused(why.to_owned()));
    refused.or_else(|| part["text"].as_str().map(Nothing::unusable))
}

fn failed(error: &Value) -> Nothing {
    let why = error["message"].as_str().unwrap_or("without a reason").to_owned();
    let code = error["code"].as_str().unwrap_or_default();
    let is_refusal = REFUSALS.iter().any(|part| code.contains(part));
    if is_refusal { Nothing::Refused(why) } else { Nothing::Failed(why) }
}
