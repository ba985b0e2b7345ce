//! What a run said: whether it is sent, as what, and where it is kept.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::job::Job;

/// Whether a reply asks not to be sent.
pub fn is_silent(reply: &str) -> bool {
    let text = reply.trim();
    let whole = text.to_uppercase();
    if matches!(whole.as_str(), "SILENT" | "NO_REPLY" | "NO REPLY") {
        return true;
    }
    let mark = |line: Option<&str>| line.is_some_and(|line| line.trim() == "[SILENT]");
    mark(text.lines().next()) || mark(text.lines().next_back())
}

/// Whether the last line of a script says that nobody need be woken.
pub fn lets_sleep(output: &str) -> bool {
    let last = output.trim_end().lines().next_back().unwrap_or_default();
    let said: Option<Value> = serde_json::from_str(last.trim()).ok();
    said.and_then(|said| said.get("wakeAgent").and_then(Value::as_bool)) == Some(false)
}

/// A reply with the name of its job.
pub fn wrapped(job: &Job, text: &str) -> String {
    let text = text.trim();
    format!("**{}** (job {})\n\n{text}", job.name, job.id)
}

/// The folder of a job's outputs.
pub fn folder(home: &Path, job: &str) -> PathBuf {
    home.join("cron").join("output").join(job)
}

/// Removes the oldest outputs beyond this many.
pub(crate) fn prune(folder: &Path, keep: usize) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    files.sort();
    for path in files.iter().take(files.len().saturating_sub(keep)) {
        if let Err(error) = std::fs::remove_file(path) {
            tracing::warn!(%error, path = %path.display(), "an old output was not removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s128_silence_is_said_in_these_ways_and_no_others() {
        for text in [
            "[SILENT]",
            " [SILENT]\n",
            "[SILENT]\nall is well",
            "nothing new\n[SILENT]",
            "SILENT",
            "no_reply",
            "NO REPLY",
        ] {
            assert!(is_silent(text), "{text}");
        }
        for text in ["", "it is silent", "say [SILENT] when done", "a\n[SILENT]\nb", "NO REPLY yet"]
        {
            assert!(!is_silent(text), "{text}");
        }
    }

    #[test]
    fn s129_a_script_lets_sleep_by_its_last_line() {
        assert!(lets_sleep("looked\n{\"wakeAgent\": false}\n\n"));
        assert!(!lets_sleep("{\"wakeAgent\": false}\nmore"));
        assert!(!lets_sleep("{\"wakeAgent\": true}") && !lets_sleep(""));
    }
}
