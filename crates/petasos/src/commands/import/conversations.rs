//! `state.db`: conversations that are not here yet.

use std::future::Future;
use std::io;
use std::path::Path;

use petasos_sqlite::{FILE_NAME, Imported, OpenOptions, Store};

use super::Move;
use super::item::Item;
use crate::commands::sessions::mend::progress;
use crate::out::Out;

/// Takes the conversations.
pub(super) fn take(moved: &Move<'_>, out: Out) -> Vec<Item> {
    let theirs = moved.from.join("state.db");
    if !theirs.is_file() {
        return vec![Item::left_out("conversations", "there is no state.db")];
    }
    match imported(moved, &theirs, out) {
        Ok(done) => told(&done),
        Err(why) => vec![Item::failed("conversations", why)],
    }
}

fn imported(moved: &Move<'_>, theirs: &Path, out: Out) -> Result<Imported, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let ours = moved.home.join(FILE_NAME);
    let open = |path| Store::open(&OpenOptions::new(path)).map_err(|error| text(&error));
    if moved.go {
        let store = open(ours)?;
        let done = wait(store.import_hermes(theirs, progress(out)));
        let done = done.map_err(|error| text(&error))?;
        return done.map_err(|error| text(&error));
    }
    // A look makes no file here: without one it compares with an empty one elsewhere.
    let trial = tempfile::tempdir().map_err(|error| text(&error))?;
    let store = if ours.is_file() { open(ours)? } else { open(trial.path().join(FILE_NAME))? };
    let done = wait(store.preview_import(theirs)).map_err(|error| text(&error))?;
    done.map_err(|error| text(&error))
}

fn told(done: &Imported) -> Vec<Item> {
    let mut items = Vec::new();
    if done.sessions > 0 {
        let what = format!("{} conversation(s) with {} messages", done.sessions, done.messages);
        items.push(Item::taken(what, ""));
    }
    let here = done.skipped.len();
    if here > 0 {
        let why = done.skipped.first().map_or("", |skipped| skipped.why.as_str());
        items.push(Item::kept(format!("{here} conversation(s)"), why));
    }
    items.extend(done.repairs.iter().map(|what| Item::kept("mended", what)));
    if let Some(why) = &done.stopped {
        let again = format!("{why}; run this again to take the rest");
        items.push(Item::failed("the other conversations", again));
    }
    if items.is_empty() {
        items.push(Item::left_out("conversations", "there are none"));
    }
    items
}

/// Waits on this thread.
pub(super) fn wait<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(future))
}
