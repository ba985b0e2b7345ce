//! The project's own words to agents: the first of the known files that is there.

use std::path::{Path, PathBuf};

use crate::threat;

const CHARS_MAX: usize = 20_000;
/// Names, in order; the first is looked for up to the root of the repository.
const UPWARD: &[&str] = &[".petasos.md", ".hermes.md"];
const HERE: &[&str] = &["AGENTS.md", "agents.md", "CLAUDE.md", "claude.md", ".cursorrules"];

/// What was found.
pub(super) struct Found {
    /// The text with a heading; absent when it was left out.
    pub(super) text: Option<String>,
    /// What a person should know.
    pub(super) left_out: Vec<String>,
}

/// Looks for a context file.
pub(super) async fn find(workspace: &Path) -> Option<Found> {
    let path = locate(workspace)?;
    let text = super::read(&path).await?;
    if text.trim().is_empty() {
        return None;
    }
    let found = threat::findings(&text);
    if !found.is_empty() {
        return Some(Found { text: None, left_out: vec![left_out(&path, &found)] });
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let text = format!("# Project instructions ({name})\n{}", capped(text.trim()));
    Some(Found { text: Some(text), left_out: Vec::new() })
}

/// What a person is told about a file that is not part of the prompt.
pub(super) fn left_out(path: &Path, found: &[&str]) -> String {
    format!(
        "`{}` was left out of the prompt: it {}. Read it yourself before trusting it.",
        path.display(),
        found.join(", ")
    )
}

fn locate(workspace: &Path) -> Option<PathBuf> {
    for folder in workspace.ancestors() {
        let found = UPWARD.iter().map(|name| folder.join(name)).find(|path| path.is_file());
        if found.is_some() {
            return found;
        }
        if folder.join(".git").exists() {
            break;
        }
    }
    HERE.iter().map(|name| workspace.join(name)).find(|path| path.is_file())
}

/// A long text keeps its beginning and its end.
pub(super) fn capped(text: &str) -> String {
    let count = text.chars().count();
    if count <= CHARS_MAX {
        return text.to_owned();
    }
    let head: String = text.chars().take(CHARS_MAX * 7 / 10).collect();
    let tail: String = text.chars().skip(count - CHARS_MAX * 2 / 10).collect();
    let left_out = count - CHARS_MAX * 9 / 10;
    format!("{head}\n[… {left_out} characters left out …]\n{tail}")
}
