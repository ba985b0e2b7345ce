//! What each model of a mixture said, kept for whoever wants to compare them: `moa.save_traces`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use petasos_contract::event::Event;
use petasos_contract::{CallContext, Settings};
use petasos_redact::Redactor;
use serde_json::Value;

/// Where traces go when no place is named, in the home.
const FOLDER: &str = "moa";

/// The folder, where traces are wanted; `auxiliary.moa` is the older place of both settings.
fn folder(settings: &Settings) -> Option<PathBuf> {
    let section = settings.get("moa").or_else(|| settings.get("auxiliary.moa"))?;
    if section.get("save_traces") != Some(&Value::Bool(true)) {
        return None;
    }
    let named = section.get("trace_dir").and_then(Value::as_str).filter(|name| !name.is_empty());
    Some(settings.home().join(named.unwrap_or(FOLDER)))
}

/// Keeps a trace where that is wanted; gives its place. One that cannot be kept is told to the
/// person and changes nothing for the call.
pub(super) async fn keep(mut trace: Value, cx: &CallContext) -> Option<String> {
    let folder = folder(&cx.settings)?;
    Redactor::of(&cx.settings).value(&mut trace);
    let kept = tokio::task::spawn_blocking(move || write(&folder, &trace)).await;
    match kept.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(path) => Some(path.display().to_string()),
        Err(why) => {
            let text = format!("the trace of a mixture is not kept: {why}");
            cx.events.emit(|| Event::Notice { text });
            None
        }
    }
}

fn write(folder: &Path, trace: &Value) -> Result<PathBuf, String> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut random = [0_u8; 4];
    getrandom::fill(&mut random).map_err(|error| error.to_string())?;
    let name = format!("moa_{}_{:08x}.json", since.as_secs(), u32::from_le_bytes(random));
    let path = folder.join(name);
    let text = format!("{trace:#}\n");
    petasos_fs::write(&path, text.as_bytes(), petasos_fs::Mode::Exactly(0o600))
        .map_err(|error| error.to_string())?;
    Ok(path)
}
