//! Context that hooks add and that is too long to put before every request: the whole goes to a
//! file, its beginning and end stay.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::Settings;
use petasos_fs::Mode;
use serde::Deserialize;
use serde_json::Value;

/// `hooks.output_spill`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
struct Limits {
    enabled: bool,
    max_chars: usize,
    preview_head: usize,
    preview_tail: usize,
    directory: Option<PathBuf>,
}

impl Default for Limits {
    fn default() -> Self {
        let (max_chars, preview) = (10_000, 500);
        Self {
            enabled: true,
            max_chars,
            preview_head: preview,
            preview_tail: preview,
            directory: None,
        }
    }
}

/// The text, or a preview that names the file with all of it.
pub(crate) fn fit(text: String, hook: &str, settings: &Settings) -> String {
    let configured = settings.get("hooks.output_spill").cloned().unwrap_or(Value::Null);
    let limits: Limits = serde_json::from_value(configured).unwrap_or_default();
    let count = text.chars().count();
    if !limits.enabled || count <= limits.max_chars {
        return text;
    }
    let folder = limits.directory.unwrap_or_else(|| settings.home().join("hook_outputs"));
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let file = folder.join(format!("{}.txt", since.as_nanos()));
    let kept = match petasos_fs::write(&file, text.as_bytes(), Mode::Exactly(0o600)) {
        Ok(()) => format!("all of it: {}", file.display()),
        Err(error) => format!("the rest is lost, it could not be kept: {error}"),
    };
    let head: String = text.chars().take(limits.preview_head).collect();
    let tail: String = text.chars().skip(count.saturating_sub(limits.preview_tail)).collect();
    format!("{head}\n[… {count} characters from hook `{hook}`; {kept} …]\n{tail}")
}
