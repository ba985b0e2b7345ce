//! xAI: `POST /v1/tts`, the recording itself comes back.

use serde_json::json;

use crate::speaking::{SpeechDef, Way, Wish};
use crate::vendor::{Body, KeyHeader, Outgoing, Vendor};

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "xai",
    limit: 15_000,
    rank: None,
    cents: 1,
    way: Way::Cloud {
        vendor: Vendor {
            id: "xai",
            keys: &["XAI_API_KEY"],
            base: "https://api.x.ai/v1",
            header: KeyHeader::Bearer,
        },
        outgoing,
        sound: |answer| Ok(answer.bytes.clone()),
    },
};

fn outgoing(text: &str, wish: &Wish) -> Outgoing {
    let body = json!({ "text": text, "voice_id": wish.voice_or("eve"), "language": "auto",
        "output_format": { "codec": "mp3", "sample_rate": 24_000, "bit_rate": 128_000 } });
    Outgoing { path: "/tts".to_owned(), body: Body::Json(body) }
}
