//! Instructions of folders that the work comes to: the model is told of each of them once.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::prompt;

/// Which were told of.
#[derive(Debug, Default)]
pub(crate) struct Hints {
    told: BTreeSet<PathBuf>,
}

impl Hints {
    /// What a call that touched this path should hear. The folders above the workspace are in the
    /// prompt already; a path that turns back may lead anywhere.
    pub(crate) fn of(&mut self, workspace: &Path, path: &str) -> Option<String> {
        let path = workspace.join(path);
        let below = path.strip_prefix(workspace).ok()?;
        if below.components().any(|part| !matches!(part, Component::Normal(_))) {
            return None;
        }
        let folders = path.ancestors().take_while(|folder| *folder != workspace);
        let found: Vec<PathBuf> = folders.filter_map(prompt::of_folder).collect();
        let new = found.into_iter().filter(|file| self.told.insert(file.clone()) && *file != path);
        let names: Vec<String> = new
            .map(|file| file.strip_prefix(workspace).unwrap_or(&file).display().to_string())
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "[Instructions for this folder: {}. Read them before you work here.]",
                names.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_instructions_is_named_once_and_none_outside_the_workspace() {
        let root = tempfile::tempdir().unwrap();
        let workspace = root.path().join("workspace");
        for name in ["AGENTS.md", "workspace/AGENTS.md", "workspace/a/b/CLAUDE.md"] {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::File::create(path).unwrap();
        }
        let mut hints = Hints::default();
        for path in ["x.rs", "../AGENTS.md", "a/../../x", "/etc/passwd", "a/x.rs"] {
            assert_eq!(hints.of(&workspace, path), None, "{path}");
        }
        let told = hints.of(&workspace, "a/b/c/x.rs").unwrap();
        assert!(told.contains("a/b/CLAUDE.md"), "{told}");
        assert_eq!(hints.of(&workspace, "a/b/y.rs"), None, "once is enough");
        let mut reader = Hints::default();
        assert_eq!(reader.of(&workspace, "a/b/CLAUDE.md"), None, "it is being read");
        assert_eq!(reader.of(&workspace, "a/b/y.rs"), None);
    }
}
