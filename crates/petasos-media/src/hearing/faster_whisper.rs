//! faster-whisper on this machine: the Python package, with a converted model in a folder; nothing
//! is downloaded.

use std::path::PathBuf;

use petasos_contract::Settings;

use crate::programs;
use crate::transcribing::{HearingDef, Listens};

/// Arguments: the recording, the folder of the model, the language or nothing.
const SCRIPT: &str = "import sys
from faster_whisper import WhisperModel
_, sound, model, language = sys.argv
segments, _ = WhisperModel(model, local_files_only=True).transcribe(sound, language=language or None)
print(' '.join(segment.text.strip() for segment in segments))
";

pub(super) static HEARING: HearingDef =
    HearingDef { id: "faster-whisper", rank: 1, way: Listens::Program { find, argv } };

fn find(settings: &Settings) -> Result<PathBuf, String> {
    let python = programs::find(settings, "python3");
    let python = python.ok_or_else(|| "faster-whisper needs the program python3".to_owned())?;
    match model(settings) {
        Some(_) => Ok(python),
        None => Err("faster-whisper needs stt.local.model_path: the folder of a converted model, \
                     and the Python package faster-whisper"
            .to_owned()),
    }
}

/// The folder that the user named, or the usual one below the home.
fn model(settings: &Settings) -> Option<PathBuf> {
    let is_model = |path: &PathBuf| path.join("model.bin").is_file();
    if let Some(path) = settings.text("stt.local.model_path").filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(path)).filter(is_model);
    }
    let name = settings.text("stt.local.model").unwrap_or("base");
    Some(settings.home().join("models").join(format!("faster-whisper-{name}"))).filter(is_model)
}

fn argv(wave: &str, settings: &Settings) -> Vec<String> {
    let model = model(settings).unwrap_or_default();
    let language = settings.text("stt.local.language").unwrap_or_default();
    ["-c", SCRIPT, wave, &model.to_string_lossy(), language].map(str::to_owned).to_vec()
}
