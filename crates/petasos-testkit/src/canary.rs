//! A secret that every program under test is given and nobody may ever see again: not on a screen,
//! not in a file of its home.

use std::fs;
use std::path::Path;

/// The name that it is given under; names like this are secrets.
pub const NAME: &str = "CANARY_ACCESS_TOKEN";
/// The secret.
pub const SECRET: &str = "canary-77b1c0de-seen-by-nobody";

/// Panics when the secret is in `text`.
pub fn is_not_in(text: &[u8], place: &str) {
    let found = text.windows(SECRET.len()).any(|piece| piece == SECRET.as_bytes());
    assert!(!found, "a secret of the environment is shown in {place}");
}

/// Panics when the secret is in a file below `folder`.
pub fn is_not_below(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            is_not_below(&entry.path());
        } else if kind.is_file() {
            // A file that is gone by now holds nothing.
            let bytes = fs::read(entry.path()).unwrap_or_default();
            is_not_in(&bytes, &entry.path().display().to_string());
        }
    }
}
