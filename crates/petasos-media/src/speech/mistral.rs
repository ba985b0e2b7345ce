//! Mistral: `POST /v1/audio/speech`, the recording in base64 inside JSON.

use base64::Engine as _;
use serde_json::json;

use crate::speaking::{SpeechDef, Way, Wish};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "mistral",
    limit: 4_000,
    rank: None,
    cents: 2,
    way: Way::Cloud {
        vendor: Vendor {
            id: "mistral",
            keys: &["MISTRAL_API_KEY"],
            base: "https://api.mistral.ai/v1",
            header: KeyHeader::Bearer,
        },
        outgoing,
        sound,
    },
};

fn outgoing(text: &str, wish: &Wish) -> Outgoing {
    let format = if wish.opus { "opus" } else { "mp3" };
    let mut body = json!({ "model": wish.model_or("voxtral-mini-tts-2603"), "input": text,
        "response_format": format });
    if let (Some(voice), Some(object)) = (&wish.voice, body.as_object_mut()) {
        object.insert("voice_id".to_owned(), voice.clone().into());
    }
    Outgoing { path: "/audio/speech".to_owned(), body: Body::Json(body) }
}

fn sound(answer: &Answer) -> Result<Vec<u8>, String> {
    let body = answer.json()?;
    let data = body["audio_data"].as_str().ok_or("it has no `audio_data`")?;
    base64::engine::general_purpose::STANDARD.decode(data).map_err(|error| error.to_string())
}
