//! What git runs on its user's behalf: hooks, and programs that a repository's configuration names.
//!
//! A confined command may commit, but what it leaves must not run later, unconfined, when a person
//! calls git. So hooks and configuration of every repository are read-only, nested ones and those of
//! submodules included.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use super::paths::make_folder;

/// How deep below a root repositories are looked for.
const DEPTH_MAX: usize = 4;
/// How many folder entries are looked at, for every root together: a command does not wait longer.
const ENTRIES_MAX: usize = 4000;
/// Folders that others fill, with no repositories that a person works in.
const PASSED_OVER: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__"];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) protected: Vec<PathBuf>,
    /// Whether the search came to its end.
    pub(super) complete: bool,
}

/// The hooks and configuration of repositories at, above and below these folders.
pub(super) fn find(roots: &[PathBuf]) -> Found {
    let mut search = Search { left: ENTRIES_MAX, complete: true, protected: Vec::new() };
    for root in roots {
        if let Some(above) =
            root.ancestors().skip(1).map(|at| at.join(".git")).find(|git| git.exists())
        {
            search.repository(&above);
        }
        search.below(root);
    }
    Found { protected: search.protected, complete: search.complete }
}

struct Search {
    left: usize,
    complete: bool,
    protected: Vec<PathBuf>,
}

impl Search {
    fn below(&mut self, root: &Path) {
        let mut folders = VecDeque::from([(root.to_path_buf(), 0)]);
        while let Some((folder, depth)) = folders.pop_front() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Some(left) = self.left.checked_sub(1) else {
                    self.complete = false;
                    return;
                };
                self.left = left;
                let name = entry.file_name();
                if name == ".git" {
                    self.repository(&entry.path());
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir())
                    && depth < DEPTH_MAX
                    && !PASSED_OVER.iter().any(|passed| name == *passed)
                {
                    folders.push_back((entry.path(), depth + 1));
                }
            }
        }
    }

    /// A `.git`: a folder, or the file of a worktree or submodule that says where the folder is.
    fn repository(&mut self, git: &Path) {
        if git.is_file() {
            self.protect(git);
            let text = fs::read_to_string(git).unwrap_or_default();
            let named = text.strip_prefix("gitdir:").map(str::trim);
            if let (Some(named), Some(around)) = (named, git.parent()) {
                self.folder(&around.join(named));
            }
            return;
        }
        self.folder(git);
        self.modules(&git.join("modules"), 0);
    }

    fn folder(&mut self, git: &Path) {
        let hooks = git.join("hooks");
        // What is not there cannot be protected; git makes it itself in every new repository.
        if git.is_dir() && !hooks.exists() {
            make_folder(&hooks);
        }
        for name in ["hooks", "config", "config.worktree", "commondir"] {
            self.protect(&git.join(name));
        }
    }

    /// The repositories of submodules, whose names may have slashes.
    fn modules(&mut self, folder: &Path, depth: usize) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.join("config").is_file() {
                self.folder(&path);
                self.modules(&path.join("modules"), depth);
            } else if path.is_dir() && depth < DEPTH_MAX {
                self.modules(&path, depth + 1);
            }
        }
    }

    fn protect(&mut self, path: &Path) {
        self.protected.extend(fs::canonicalize(path).ok());
    }
}
