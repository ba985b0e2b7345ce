//! Piper: a local voice with a model file. Debian's `piper` is a mouse tool, so that the help is
//! asked first.

use petasos_contract::Settings;

use crate::speaking::{SpeechDef, Way};

const USUAL: &str = "en_US-lessac-medium";

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

/// A voice is downloaded by its person and never by us.
fn lacks(settings: &Settings) -> Option<String> {
    let model = settings.text("tts.piper.model").unwrap_or_default();
    let is_there = !model.is_empty() && std::path::Path::new(model).is_file();
    (!is_there).then(|| "piper needs tts.piper.model: the path of a voice (.onnx)".to_owned())
}
