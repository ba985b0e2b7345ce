//! The project's own instructions to agents: one file a folder, from the root of the repository
//! down to the working directory, the nearest last.

use std::path::{Path, PathBuf};

use crate::threat;

const CHARS_MAX: usize = 20_000;
/// Folders with instructions that are read; the nearest count.
const LEVELS_MAX: usize = 8;
/// Names, in order of preference within one folder.
const NAMES: &[&str] = &[
    ".petasos.md",
    ".hermes.md",
    "AGENTS.md",
    "agents.md",
    "CLAUDE.md",
    "claude.md",
    ".cursorrules",
];
/// Names that count also above a folder that is in no repository.
const UPWARD: &[&str] = &[".petasos.md", ".hermes.md"];

/// What was found.
#[derive(Default)]
pub(super) struct Found {
    /// The texts, each with a heading.
    pub(super) texts: Vec<String>,
    /// What a person should know.
    pub(super) left_out: Vec<String>,
}

/// Reads the context files of a workspace.
pub(super) async fn find(workspace: &Path) -> Found {
    let mut found = Found::default();
    for path in locate(workspace) {
        let Some(text) = super::read(&path).await.filter(|text| !text.trim().is_empty()) else {
            continue;
        };
        let threats = threat::findings(&text);
        if threats.is_empty() {
            let name = shown(&path, workspace);
            found.texts.push(format!("# Project instructions ({name})\n{}", capped(text.trim())));
        } else {
            found.left_out.push(left_out(&path, &threats));
        }
    }
    found
}

/// The files with a project's instructions, the nearest last.
pub fn locate(workspace: &Path) -> Vec<PathBuf> {
    let folders: Vec<&Path> = workspace.ancestors().collect();
    let root = folders.iter().position(|folder| folder.join(".git").exists());
    let mut files: Vec<PathBuf> = match root {
        Some(root) => folders.iter().take(root + 1).filter_map(|it| first(it, NAMES)).collect(),
        None => match first(workspace, NAMES) {
            Some(file) => vec![file],
            None => folders.iter().find_map(|it| first(it, UPWARD)).into_iter().collect(),
        },
    };
    files.truncate(LEVELS_MAX);
    files.reverse();
    files
}

/// The file with instructions for one folder.
pub(crate) fn of_folder(folder: &Path) -> Option<PathBuf> {
    first(folder, NAMES)
}

fn first(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// How a file is called: relative to where the agent works, when it is there.
fn shown(path: &Path, workspace: &Path) -> String {
    path.strip_prefix(workspace).unwrap_or(path).display().to_string()
}

/// What a person is told about a file that is not part of the prompt.
pub(super) fn left_out(path: &Path, found: &[&str]) -> String {
    format!(
        "`{}` was left out of the prompt: it {}. Read it yourself before trusting it.",
        path.display(),
        found.join(", ")
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_of_a_repository_counts_and_nothing_above_it() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), b"text").unwrap();
        };
        for name in ["AGENTS.md", "repo/CLAUDE.md", "repo/AGENTS.md", "repo/a/b/.cursorrules"] {
            write(name);
        }
        let found = |folder: &str| {
            let files = locate(&root.path().join(folder));
            let name =
                |path: &PathBuf| path.strip_prefix(root.path()).unwrap().display().to_string();
            files.iter().map(name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("repo/a/b"), "repo/a/b/.cursorrules");
        std::fs::create_dir_all(root.path().join("repo/.git")).unwrap();
        assert_eq!(found("repo/a/b"), "repo/AGENTS.md repo/a/b/.cursorrules");
        assert_eq!(found("repo/a"), "repo/AGENTS.md");
        assert_eq!(found("."), "AGENTS.md");
        write("repo/.hermes.md");
        assert_eq!(found("repo/a"), "repo/.hermes.md");
    }
}
