//! espeak-ng: small, everywhere, and plainly a machine.

use crate::speaking::{SpeechDef, Way};

/// Words a minute at the usual speed.
const PACE: f64 = 175.0;

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "espeak",
    limit: 5_000,
    rank: Some(2),
    cents: 0,
    way: Way::Program {
        name: "espeak-ng",
        proof: None,
        lacks: |_| None,
        argv: |files, wish| {
            let mut argv: Vec<String> =
                ["-f", files.text, "-w", files.output].map(str::to_owned).to_vec();
            if let Some(voice) = &wish.voice {
                argv.extend(["-v".to_owned(), voice.clone()]);
            }
            if let Some(speed) = wish.speed {
                let pace = (speed.clamp(0.5, 2.5) * PACE).round();
                argv.extend(["-s".to_owned(), pace.to_string()]);
            }
            argv
        },
        ending: "wav",
    },
};
