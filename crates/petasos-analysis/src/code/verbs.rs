//! What a function does by the words of its name, where no table knows it: `deleteTree`,
//! `drop_database`, `remove-directory`, `flushall`.

use super::calls::Action;
use crate::words::lists;

const TAKE_AWAY: &str = "delete remove destroy drop purge wipe erase rm rmdir unlink truncate flush \
    empty obliterate nuke del trash";
/// What is gone with everything in it.
const TREES: &str = "tree trees dir dirs directory directories folder folders recursive recursively rf \
    recurse filesystem fileutils subtree rmtree";
/// What holds data for others.
const STORES: &str = "database databases db table tables collection collections schema keyspace bucket \
    buckets topic queue dbs flushall flushdb index indices topics queues prefix metadata versions namespace \
    namespaces cluster instance instances volume volumes repository project";

/// The words of a name, in lower case.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut small = false;
    for letter in name.chars() {
        let apart = !letter.is_alphanumeric();
        if apart || letter.is_uppercase() && small {
            found.push(String::new());
        }
        small = letter.is_lowercase();
        if let Some(last) = found.last_mut().filter(|_| !apart) {
            last.extend(letter.to_lowercase());
        }
    }
    found.retain(|word| !word.is_empty());
    found
}

/// What calling `last` of `owner` takes away, if its words say so.
pub(super) fn action(owner: &str, last: &str) -> Option<Action> {
    let own = words(last);
    let has = |list: &str| own.iter().any(|word| lists(list, word));
    if own.len() == 1 && has("flushall flushdb dropdatabase") {
        return Some(Action::Destroy);
    }
    let owners = words(owner);
    if last == "all" && owners.last().is_some_and(|word| lists(TAKE_AWAY, word)) {
        return Some(Action::DeleteTree);
    }
    if !has(TAKE_AWAY) {
        return None;
    }
    if own.len() == 2 && has("file") {
        return Some(Action::Delete);
    }
    // `User.delete_all`, `index.delete`: everything that a store holds.
    let store = owners.last().is_some_and(|word| lists(STORES, word) && word != "db");
    if own.len() == 2 && has("all") || store && own.len() == 1 && has("delete drop destroy") {
        return Some(Action::Destroy);
    }
    let place = owners.last().is_some_and(|word| lists(TREES, word));
    if has(TREES) && own.len() > 1 || place && own.len() == 1 && !lists("drop flush", last) {
        Some(Action::DeleteTree)
    } else if has(STORES) && has("drop flush truncate delete purge destroy wipe") {
        Some(Action::Destroy)
    } else {
        None
    }
}
