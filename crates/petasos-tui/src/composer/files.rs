//! The files of the workspace, for `@`: found by parts of their names, ignored ones left out.

use std::path::Path;
use std::time::{Duration, Instant};

use ignore::WalkBuilder;

/// More files than this are not looked at: a folder that large is narrowed by its path.
const FILES_MAX: usize = 20_000;
/// A list that is older is made anew.
const FRESH: Duration = Duration::from_secs(5);
/// Where links and mounts go on, people do not.
const DEPTH_MAX: usize = 12;
/// Nobody waits longer for a list.
const PATIENCE: Duration = Duration::from_millis(300);

/// The files as they were a moment ago.
#[derive(Debug, Default)]
pub(super) struct Files {
    paths: Vec<String>,
    listed: Option<Instant>,
}

impl Files {
    /// The paths that have these letters, the best first.
    pub(super) fn found(&mut self, workspace: &Path, letters: &str, most: usize) -> Vec<String> {
        if self.listed.is_none_or(|at| at.elapsed() > FRESH) {
            self.paths = list(workspace);
            self.listed = Some(Instant::now());
        }
        let letters = letters.to_lowercase();
        let mut found: Vec<(u8, usize, &String)> = self
            .paths
            .iter()
            .filter_map(|path| rank(path, &letters).map(|rank| (rank, path.len(), path)))
            .collect();
        found.sort();
        found.into_iter().take(most).map(|(_, _, path)| path.clone()).collect()
    }
}

fn list(workspace: &Path) -> Vec<String> {
    let until = Instant::now() + PATIENCE;
    let walk = WalkBuilder::new(workspace).max_depth(Some(DEPTH_MAX)).build();
    let files = walk.flatten().take_while(|_| Instant::now() < until);
    let files = files.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let paths = files.filter_map(|entry| {
        let path = entry.path().strip_prefix(workspace).ok()?;
        path.to_str().filter(|path| !path.contains(char::is_whitespace)).map(str::to_owned)
    });
    paths.take(FILES_MAX).collect()
}

/// How well a path fits; less is better.
fn rank(path: &str, letters: &str) -> Option<u8> {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.starts_with(letters) {
        return Some(0);
    }
    if name.contains(letters) {
        return Some(1);
    }
    if path.contains(letters) {
        return Some(2);
    }
    let mut rest = path.chars();
    letters.chars().all(|letter| rest.any(|one| one == letter)).then_some(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_before_folders_and_letters_in_order_are_enough() {
        let folder = std::env::temp_dir().join(format!("petasos-files-{}", std::process::id()));
        for path in ["src/chat/menu.rs", "menu/other.rs", "src/main.rs", ".git/menu"] {
            let file = folder.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::File::create(file).unwrap();
        }
        let mut files = Files::default();
        let mut found = |letters: &str| files.found(&folder, letters, 10);
        assert_eq!(found("menu"), ["src/chat/menu.rs", "menu/other.rs"]);
        assert_eq!(found("scu"), ["src/chat/menu.rs"]);
        assert_eq!(found("nothing"), Vec::<String>::new());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
