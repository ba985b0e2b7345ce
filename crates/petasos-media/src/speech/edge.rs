//! The program `edge-tts`, where the person installed it. The service behind it is undocumented, and
//! nothing here poses as its browser.

use crate::speaking::{SpeechDef, Way};

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "edge",
    limit: 5_000,
    rank: Some(0),
    cents: 0,
    way: Way::Program {
        name: "edge-tts",
        proof: None,
        lacks: |_| None,
        argv: |files, wish| {
            let voice = wish.voice_or("en-US-AriaNeural");
            ["--file", files.text, "--voice", &voice, "--write-media", files.output]
                .map(str::to_owned)
                .to_vec()
        },
        ending: "mp3",
    },
};
