//! Piper: a local voice with a model file. Debian's `piper` is a mouse tool, so that the help is
//! asked first.

use petasos_contract::Settings;

use crate::speaking::{SpeechDef, Way};
use crate::voicing::USUAL;

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "piper",
    limit: 5_000,
    rank: Some(1),
    cents: 0,
    way: Way::Program {
        name: "piper",
        proof: Some("--model"),
        lacks,
        argv: |files, wish| {
            let model = wish.model_or(USUAL);
            ["--model", &model, "--output_file", files.output].map(str::to_owned).to_vec()
        },
        ending: "wav",
    },
};

/// A voice is fetched when its person asks for it, and never by the way.
fn lacks(settings: &Settings) -> Option<String> {
    let model = settings.text("tts.piper.model").unwrap_or_default();
    let is_there = !model.is_empty() && std::path::Path::new(model).is_file();
    (!is_there).then(|| "piper needs a voice: petasos setup voice, or tts.piper.model".to_owned())
}
