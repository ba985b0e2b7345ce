//! whisper.cpp on this machine, with a model file; nothing is downloaded.

use std::path::{Path, PathBuf};

use petasos_contract::Settings;

use crate::programs;
use crate::transcribing::{HearingDef, Listens};

const PROGRAMS: [&str; 3] = ["whisper-cli", "whisper-cpp", "whisper.cpp"];

pub(super) static HEARING: HearingDef =
    HearingDef { id: "local", rank: 0, way: Listens::Program { find, argv } };

fn find(settings: &Settings) -> Result<PathBuf, String> {
    let program = PROGRAMS.iter().find_map(|name| programs::find(settings, name));
    let program = program.ok_or_else(|| "local needs the program whisper-cli".to_owned())?;
    match model(settings) {
        Some(_) => Ok(program),
        None => Err("local needs stt.local.model_path: a model file of whisper.cpp".to_owned()),
    }
}

/// The file that the user named, or the usual one below the home.
fn model(settings: &Settings) -> Option<PathBuf> {
    if let Some(path) = settings.text("stt.local.model_path").filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(path)).filter(|path| path.is_file());
    }
    let name = settings.text("stt.local.model").unwrap_or("base");
    let path = settings.home().join("models").join(format!("ggml-{name}.bin"));
    Some(path).filter(|path| Path::is_file(path))
}

fn argv(wave: &str, settings: &Settings) -> Vec<String> {
    let model = model(settings).unwrap_or_default();
    let language = settings.text("stt.local.language").filter(|word| !word.is_empty());
    ["-m", &model.to_string_lossy(), "-f", wave, "-l", language.unwrap_or("auto"), "-nt", "-np"]
        .map(str::to_owned)
        .to_vec()
}
