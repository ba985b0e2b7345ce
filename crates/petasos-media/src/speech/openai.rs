//! OpenAI: `POST /v1/audio/speech`, the recording itself comes back.

use serde_json::json;

use crate::speaking::{SpeechDef, Way, Wish};
use crate::vendor::{Body, KeyHeader, Outgoing, Vendor};

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "openai",
    limit: 4_096,
    rank: None,
    cents: 2,
    way: Way::Cloud {
        vendor: Vendor {
            id: "openai",
            keys: &["VOICE_TOOLS_OPENAI_KEY", "OPENAI_API_KEY"],
            base: "https://api.openai.com/v1",
            header: KeyHeader::Bearer,
        },
        outgoing,
        sound: |answer| Ok(answer.bytes.clone()),
    },
};

fn outgoing(text: &str, wish: &Wish) -> Outgoing {
    let format = if wish.opus { "opus" } else { "mp3" };
    let mut body = json!({ "model": wish.model_or("gpt-4o-mini-tts"), "input": text,
        "voice": wish.voice_or("alloy"), "response_format": format });
    if let (Some(speed), Some(object)) = (wish.speed, body.as_object_mut()) {
        object.insert("speed".to_owned(), speed.clamp(0.25, 4.0).into());
    }
    Outgoing { path: "/audio/speech".to_owned(), body: Body::Json(body) }
}
