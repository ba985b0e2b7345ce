//! MiniMax: `POST /v1/t2a_v2`, the recording in hexadecimal; failures come with status 200.

use serde_json::json;

use crate::speaking::{SpeechDef, Way, Wish};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "minimax",
    limit: 10_000,
    rank: None,
    cents: 10,
    way: Way::Cloud {
        vendor: Vendor {
            id: "minimax",
            keys: &["MINIMAX_API_KEY"],
            base: "https://api.minimax.io/v1",
            header: KeyHeader::Bearer,
        },
        outgoing,
        sound,
    },
};

fn outgoing(text: &str, wish: &Wish) -> Outgoing {
    let mut body = json!({
        "model": wish.model_or("speech-2.8-hd"),
        "text": text,
        "stream": false,
        "voice_setting": {
            "voice_id": wish.voice_or("English_expressive_narrator"),
            "speed": wish.speed.unwrap_or(1.0), "vol": 1, "pitch": 0,
        },
        "audio_setting": {
            "sample_rate": 32_000, "bitrate": 128_000, "format": "mp3", "channel": 1,
        },
    });
    if wish.opus {
        body["audio_setting"] = json!({ "sample_rate": 24_000, "format": "opus", "channel": 1 });
    }
    Outgoing { path: "/t2a_v2".to_owned(), body: Body::Json(body) }
}

fn sound(answer: &Answer) -> Result<Vec<u8>, String> {
    let body = answer.json()?;
    let said = &body["base_resp"];
    if said["status_code"].as_i64().unwrap_or(0) != 0 {
        return Err(format!("{} {}", said["status_code"], said["status_msg"]));
    }
    let text = body["data"]["audio"].as_str().ok_or("it has no `data.audio`")?;
    let digit = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    let bytes: Option<Vec<u8>> = (0..text.len() / 2).map(|at| digit(at * 2)).collect();
    bytes.ok_or_else(|| "`data.audio` is not hexadecimal".to_owned())
}
