//! `auth.json`: logins and pools of providers for which nothing is kept here.

use petasos_providers::credential::store::{AuthFile, update};

use super::Move;
use super::item::Item;

/// Takes logins and keys.
pub(super) fn take(moved: &Move<'_>) -> Vec<Item> {
    if !moved.from.join("auth.json").is_file() {
        return Vec::new();
    }
    let theirs = match AuthFile::read(moved.from) {
        Ok(theirs) => theirs,
        Err(problem) => return vec![Item::failed("auth.json", problem)],
    };
    let ours = match AuthFile::read(moved.home) {
        Ok(ours) => ours,
        Err(problem) => return vec![Item::failed("auth.json of this home", problem)],
    };
    let mut items = Vec::new();
    let mut logins = Vec::new();
    for provider in theirs.logged_in() {
        let what = format!("login of {provider}");
        if ours.login(provider).is_some() {
            items.push(Item::kept(what, "there is one here"));
        } else if let Some(login) = theirs.login(provider) {
            let why = "both programs use it now: one that renews it may end it for the other";
            items.push(Item::taken(what, why));
            logins.push((provider, login));
        }
    }
    let mut pools = Vec::new();
    for pool in theirs.pools() {
        let known: Vec<String> = ours.pool(pool).into_iter().map(|entry| entry.id).collect();
        let new: Vec<_> =
            theirs.pool(pool).into_iter().filter(|entry| !known.contains(&entry.id)).collect();
        if !new.is_empty() {
            items.push(Item::taken(format!("{} key(s) for {pool}", new.len()), ""));
            pools.push((pool, new));
        }
    }
    if !moved.go || (logins.is_empty() && pools.is_empty()) {
        return items;
    }
    let done = super::conversations::wait(update(moved.home, |file| {
        for (provider, login) in &logins {
            file.set_login(provider, login);
        }
        for (pool, entries) in &pools {
            for entry in entries {
                file.set_entry(pool, entry);
            }
        }
        if let (None, Some(active)) = (file.active_provider(), theirs.active_provider()) {
            file.set_active(active);
        }
    }));
    match done {
        Ok(Ok(())) => items,
        Ok(Err(error)) => vec![Item::failed("auth.json", error)],
        Err(error) => vec![Item::failed("auth.json", error)],
    }
}
