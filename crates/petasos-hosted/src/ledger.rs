//! A file in the home that remembers hosted things: snapshots by task, and sandboxes by owner.
//!
//! Several programs may share one home: each edit is made under a lock and touches one entry. A
//! sandbox whose program is gone is found here by the next one and removed.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use petasos_fs::Record;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use petasos_terminal::tree;

/// The program that holds a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pid: u32,
    started: u64,
}

impl Owner {
    /// This program.
    pub(crate) fn this() -> Self {
        let pid = std::process::id();
        Self { pid, started: tree::start_time(pid).unwrap_or(0) }
    }

    /// Whether it lives on this machine.
    pub(crate) fn lives(self) -> bool {
        tree::start_time(self.pid) == Some(self.started)
    }

    /// As one word, for a vendor's label.
    pub(crate) fn label(self) -> String {
        format!("{}-{}", self.pid, self.started)
    }

    /// From the word.
    pub(crate) fn from_label(label: &str) -> Option<Self> {
        let (pid, started) = label.split_once('-')?;
        Some(Self { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }
}

/// A map in a file, which may not exist yet.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    record: Record,
}

impl Ledger {
    /// The ledger of this name in a home.
    pub(crate) fn at(home: &Path, name: &str) -> Self {
        Self { record: Record::at(home.join(name)) }
    }

    /// All entries; a file that is not there has none.
    pub(crate) fn entries<T: DeserializeOwned>(&self) -> io::Result<BTreeMap<String, T>> {
        self.record.read()
    }

    /// Sets one entry.
    pub(crate) fn set<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        value: T,
    ) -> io::Result<()> {
        self.record.edit(|entries: &mut BTreeMap<String, T>| {
            entries.insert(key.to_owned(), value);
        })
    }

    /// Strikes one entry out.
    pub(crate) fn remove<T: Serialize + DeserializeOwned>(&self, key: &str) -> io::Result<()> {
        if !self.record.path().exists() {
            return Ok(());
        }
        self.record.edit(|entries: &mut BTreeMap<String, T>| {
            entries.remove(key);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_and_go_one_by_one() {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::at(&home.path().join("new"), "snapshots.json");
        assert!(ledger.entries::<String>().unwrap().is_empty());
        ledger.set("a", "im-1".to_owned()).unwrap();
        ledger.set("b", "im-2".to_owned()).unwrap();
        ledger.remove::<String>("a").unwrap();
        let left: Vec<_> = ledger.entries::<String>().unwrap().into_iter().collect();
        assert_eq!(left, [("b".to_owned(), "im-2".to_owned())]);
    }

    #[test]
    fn an_owner_is_known_again_by_its_label() {
        let this = Owner::this();
        assert!(this.lives());
        assert_eq!(Owner::from_label(&this.label()), Some(this));
        assert!(!Owner { started: this.started + 1, ..this }.lives());
        assert_eq!(Owner::from_label("x"), None);
    }
}
