//! `say` of macOS.

use crate::speaking::{SpeechDef, Way};

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "say",
    limit: 5_000,
    rank: Some(3),
    cents: 0,
    way: Way::Program {
        name: "say",
        proof: None,
        lacks: |_| (!cfg!(target_os = "macos")).then(|| "say is a program of macOS".to_owned()),
        argv: |files, wish| {
            let mut argv: Vec<String> =
                ["-f", files.text, "-o", files.output, "--data-format=LEI16@22050"]
                    .map(str::to_owned)
                    .to_vec();
            if let Some(voice) = &wish.voice {
                argv.extend(["-v".to_owned(), voice.clone()]);
            }
            argv
        },
        ending: "wav",
    },
};
