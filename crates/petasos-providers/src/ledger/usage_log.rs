//! The usage log as a `UsageStore`: a line for every reply, in the logs of the home.
//!
//! Written by every process that asks a model, whether its conversation is stored or not. A full
//! file makes way for a new one; one old file is kept.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::future::ready;
use std::io::{self, Write as _};
use std::path::PathBuf;

use petasos_contract::BoxFuture;
use petasos_contract::address::Address;
use petasos_contract::model::{Cost, Role, Usage};
use petasos_store::{UsageEntry, UsageError, UsageFilter, UsageLine, UsageStore, UsageTotals};
use serde::{Deserialize, Serialize};

use crate::credential::{jwt, now_ms};

/// Where, below the home.
const FILE: &str = "logs/usage.jsonl";
const OLD: &str = "logs/usage.1.jsonl";
/// About thirty thousand replies.
const BYTES_MAX: u64 = 8 * 1024 * 1024;

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    at: String,
    session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<Address>,
    role: Role,
    provider: String,
    model: String,
    usage: Usage,
    cost: Cost,
}

/// The usage log of one home.
#[derive(Debug)]
pub struct UsageLog {
    home: PathBuf,
}

impl UsageLog {
    /// The log of this home, which need not be there yet.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into() }
    }

    /// A home that is not there stays so.
    fn write(&self, entry: &UsageEntry) -> io::Result<()> {
        if self.home.as_os_str().is_empty() || !self.home.is_dir() {
            return Ok(());
        }
        let (session, owner) = (entry.session.to_string(), entry.owner.clone());
        let spent = &entry.spent;
        let written = Written {
            at: jwt::format_date(now_ms()),
            session,
            owner,
            role: spent.role,
            provider: spent.served.provider.clone(),
            model: spent.served.model.clone(),
            usage: spent.usage,
            cost: spent.cost,
        };
        let file = self.home.join(FILE);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        if fs::metadata(&file).is_ok_and(|known| known.len() > BYTES_MAX) {
            fs::rename(&file, self.home.join(OLD))?;
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let line = serde_json::to_string(&written).map_err(io::Error::other)?;
        // One write, so that lines of several processes never mix.
        options.open(&file)?.write_all(format!("{line}\n").as_bytes())
    }

    fn sum(&self, filter: &UsageFilter) -> io::Result<UsageTotals> {
        let mut lines: BTreeMap<(Role, String, String), UsageLine> = BTreeMap::new();
        let mut unread = 0;
        for name in [OLD, FILE] {
            let text = match fs::read_to_string(self.home.join(name)) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            for line in text.lines() {
                let Ok(entry) = serde_json::from_str::<Written>(line) else {
                    unread += 1;
                    continue;
                };
                let wanted = filter.session.as_ref().is_none_or(|it| it.as_str() == entry.session);
                if !wanted || !filter.scope.sees(entry.owner.as_ref()) {
                    continue;
                }
                let new = UsageLine::new(entry.role, &entry.provider, &entry.model);
                let place = (entry.role, entry.provider, entry.model);
                lines.entry(place).or_insert(new).add(&entry.usage, entry.cost);
            }
        }
        Ok(UsageTotals { lines: lines.into_values().collect(), unread })
    }
}

impl UsageStore for UsageLog {
    fn add<'a>(&'a self, entry: &'a UsageEntry) -> BoxFuture<'a, Result<(), UsageError>> {
        Box::pin(ready(self.write(entry).map_err(|error| failed(&error))))
    }

    fn totals<'a>(
        &'a self,
        filter: &'a UsageFilter,
    ) -> BoxFuture<'a, Result<UsageTotals, UsageError>> {
        Box::pin(ready(self.sum(filter).map_err(|error| failed(&error))))
    }
}

fn failed(error: &io::Error) -> UsageError {
    UsageError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use petasos_contract::SessionId;
    use petasos_store::{SessionScope, Spent};

    fn used(role: Role, cost: Cost) -> UsageEntry {
        let usage = Usage { input: 3, output: 2, requests: 1, ..Usage::default() };
        let spent = Spent { role, served: petasos_contract::model::Served::default(), usage, cost };
        UsageEntry { session: SessionId::from("s"), owner: None, spent }
    }

    #[test]
    fn a_broken_line_is_counted_and_a_missing_home_stays_so() {
        let home = tempfile::tempdir().unwrap();
        let log = UsageLog::new(home.path());
        log.write(&used(Role::Main, Cost::Estimated { usd: 0.5 })).unwrap();
        log.write(&used(Role::Compression, Cost::Unknown)).unwrap();
        let file = home.path().join(FILE);
        OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{half a\n").unwrap();
        // A line of a version that knew no owners.
        let old = fs::read_to_string(&file).unwrap();
        assert!(!old.contains("owner"), "{old}");
        let filter = UsageFilter { scope: SessionScope::Everyone, session: None };
        let found = log.sum(&filter).unwrap();
        let shown: Vec<_> =
            found.lines.iter().map(|it| (it.role, it.usd, it.has_unknown)).collect();
        assert_eq!(shown, [(Role::Main, 0.5, false), (Role::Compression, 0.0, true)]);
        assert_eq!(found.unread, 1);
        let gone = home.path().join("gone");
        assert!(UsageLog::new(&gone).write(&used(Role::Main, Cost::Included)).is_ok());
        assert!(!gone.exists());
    }
}
