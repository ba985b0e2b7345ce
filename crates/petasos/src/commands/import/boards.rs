//! `kanban.db` and `kanban/boards/*/kanban.db`: boards, into the store that all profiles share.

use std::path::{Path, PathBuf};

use petasos_sqlite::{FILE_NAME, ImportedBoard, OpenOptions, Store};
use petasos_store::{BOARD_USUAL, is_board_name};

use super::Move;
use super::conversations::wait;
use super::item::Item;

const FILE: &str = "kanban.db";

/// Takes the boards.
pub(super) fn take(moved: &Move<'_>) -> Vec<Item> {
    let found = boards(moved.from);
    if found.is_empty() {
        return vec![Item::left_out("boards", "there is no kanban.db")];
    }
    found.iter().flat_map(|(name, file)| one(moved, name, file)).collect()
}

/// The boards of a home with their files, the usual one first.
fn boards(from: &Path) -> Vec<(String, PathBuf)> {
    let usual = (BOARD_USUAL.to_owned(), from.join(FILE));
    let folder = std::fs::read_dir(from.join("kanban").join("boards"));
    let mut named: Vec<(String, PathBuf)> = folder
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path().join(FILE)))
        .filter(|(name, _)| is_board_name(name))
        .collect();
    named.sort();
    std::iter::once(usual).chain(named).filter(|(_, file)| file.is_file()).collect()
}

fn one(moved: &Move<'_>, name: &str, file: &Path) -> Vec<Item> {
    let what = format!("board `{name}`");
    match imported(moved, name, file) {
        Err(why) => vec![Item::failed(what, why)],
        Ok(done) => {
            let mut items = Vec::new();
            if done.tasks > 0 {
                let told = format!(
                    "{what}: {} task(s), {} comment(s), {} file(s)",
                    done.tasks, done.comments, done.files
                );
                items.push(Item::taken(told, ""));
            }
            if done.known > 0 || items.is_empty() {
                let told = format!("{what}: {} task(s)", done.known);
                items.push(Item::kept(told, "they are here already"));
            }
            items.extend(done.left.iter().map(|why| Item::left_out(&what, why)));
            items
        }
    }
}

fn imported(moved: &Move<'_>, name: &str, file: &Path) -> Result<ImportedBoard, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    // The root home keeps the boards of all profiles.
    let ours = crate::board::root_of(moved.home).join(FILE_NAME);
    let open = |path| Store::open(&OpenOptions::new(path)).map_err(|error| text(&error));
    // A look makes no file here: without one it compares with an empty one elsewhere.
    let trial = tempfile::tempdir().map_err(|error| text(&error))?;
    let is_here = moved.go || ours.is_file();
    let store = if is_here { open(ours)? } else { open(trial.path().join(FILE_NAME))? };
    let done = wait(store.import_board(file, name, moved.go)).map_err(|error| text(&error))?;
    done.map_err(|error| text(&error))
}
