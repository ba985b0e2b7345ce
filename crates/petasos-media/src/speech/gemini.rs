//! Gemini: `generateContent` with the modality audio; plain samples of 24 kHz come back in base64.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::sound::wav;
use crate::speaking::{SpeechDef, Way, Wish};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

const RATE: u32 = 24_000;

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "gemini",
    limit: 32_000,
    rank: None,
    cents: 2,
    way: Way::Cloud {
        vendor: Vendor {
            id: "gemini",
            keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            base: "https://generativelanguage.googleapis.com/v1beta",
            header: KeyHeader::Named("x-goog-api-key"),
        },
        outgoing,
        sound,
    },
};

fn outgoing(text: &str, wish: &Wish) -> Outgoing {
    let voice = json!({ "prebuiltVoiceConfig": { "voiceName": wish.voice_or("Kore") } });
    let body = json!({
        "contents": [{ "parts": [{ "text": text }] }],
        "generationConfig": {
            "responseModalities": ["AUDIO"],
            "speechConfig": { "voiceConfig": voice },
        },
    });
    let model = wish.model_or("gemini-2.5-flash-preview-tts");
    Outgoing { path: format!("/models/{model}:generateContent"), body: Body::Json(body) }
}

fn sound(answer: &Answer) -> Result<Vec<u8>, String> {
    let body = answer.json()?;
    let parts = body.pointer("/candidates/0/content/parts").and_then(Value::as_array);
    let data = parts.into_iter().flatten().find_map(|part| part["inlineData"]["data"].as_str());
    let data = data.ok_or("no part has `inlineData`")?;
    let samples = base64::engine::general_purpose::STANDARD.decode(data);
    Ok(wav(&samples.map_err(|error| error.to_string())?, RATE))
}
