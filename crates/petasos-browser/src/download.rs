//! Files that a page gives: kept in the session's folder under a safe name, never opened.

use std::path::Path;

use serde_json::{Value, json};

use crate::events::text;
use crate::session::{Download, Session};

const NAME_CHARS: usize = 80;
/// So many files of a session are kept, and so many bytes of them.
const FILES_MAX: usize = 100;
const ALL_BYTES_MAX: f64 = 500e6;

/// A download of one of this session's frames has begun.
pub(crate) fn began(session: &Session, params: &Value) {
    let frame = text(&params["frameId"]);
    let mut state = session.state();
    let is_ours =
        state.tabs.iter().any(|tab| tab.target == frame || tab.frames.contains_key(frame));
    if !is_ours {
        return;
    }
    if state.downloads.len() >= FILES_MAX {
        state.note(format!("more than {FILES_MAX} downloads: further ones are not kept"));
        drop(state);
        return cancel(session, text(&params["guid"]));
    }
    state.downloads.push(Download {
        id: text(&params["guid"]).to_owned(),
        filename: safe_name(text(&params["suggestedFilename"])),
        size: 0.0,
        state: "inProgress".to_owned(),
        path: None,
        is_told: false,
    });
    drop(state);
    session.changed.notify_waiters();
}

/// A download went on, ended or failed.
pub(crate) fn went_on(session: &Session, params: &Value) {
    let id = text(&params["guid"]);
    let most = session.options.download_max_mb.saturating_mul(1_000_000);
    let mut state = session.state();
    let others = state.downloads.iter().filter(|other| other.id != id);
    let before: f64 = others.filter(|other| other.state != "too_large").map(|it| it.size).sum();
    let Some(download) = state.downloads.iter_mut().find(|download| download.id == id) else {
        return;
    };
    // What was cut off stays so, whatever is told of it afterwards.
    if download.state == "too_large" {
        return;
    }
    download.size = params["receivedBytes"].as_f64().unwrap_or(0.0);
    text(&params["state"]).clone_into(&mut download.state);
    let received = params["receivedBytes"].as_u64().unwrap_or(0);
    let total = params["totalBytes"].as_u64().unwrap_or(0);
    let is_too_large = received.max(total) > most || before + download.size > ALL_BYTES_MAX;
    if is_too_large && download.state == "inProgress" {
        "too_large".clone_into(&mut download.state);
        cancel(session, id);
    }
    if download.state == "completed" {
        download.path = keep(&session.folder, id, &download.filename);
        download.is_told = false;
    }
    drop(state);
    session.changed.notify_waiters();
}

fn cancel(session: &Session, id: &str) {
    let params = session.within(json!({ "guid": id }));
    session.wire.post(None, "Browser.cancelDownload", &params);
}

/// Gives the file its name; a name that is taken gets a number.
fn keep(folder: &Path, id: &str, filename: &str) -> Option<std::path::PathBuf> {
    let numbered = (1..1000).map(|n| match filename.rsplit_once('.') {
        _ if n == 1 => filename.to_owned(),
        Some((stem, end)) => format!("{stem}-{n}.{end}"),
        None => format!("{filename}-{n}"),
    });
    let free = numbered.map(|name| folder.join(name)).find(|path| !path.exists())?;
    match std::fs::rename(folder.join(id), &free) {
        Ok(()) => Some(free),
        Err(error) => {
            tracing::warn!(%error, "a download was not kept");
            None
        }
    }
}

/// A suggested name without folders, leading dots and control characters.
fn safe_name(suggested: &str) -> String {
    let last = suggested.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept = last.chars().map(|c| {
        let is_fine = c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ' ' | '(' | ')');
        if is_fine { c } else { '_' }
    });
    let name: String = kept.take(NAME_CHARS).collect();
    let name = name.replace("..", "_");
    let name = name.trim().trim_start_matches(['.', '_']).to_owned();
    if name.is_empty() { "download".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggested_name_leads_nowhere() {
        let table = [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\x\\.bashrc", "bashrc"),
            ("a\u{202e}b\u{0}.txt", "a_b_.txt"),
            ("_.._a b.txt", "a b.txt"),
            ("...", "download"),
        ];
        for (given, wanted) in table {
            assert_eq!(safe_name(given), wanted, "{given}");
        }
    }
}
