//! The bill on disk: a line for every reply, in the logs of the home.
//!
//! Written by every process that asks a model, and read by whoever wants to know what was used for
//! what. A full file makes way for a new one; one old file is kept.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use petasos_contract::SessionId;
use petasos_contract::model::{Cost, Reply, Role, Usage};
use serde::{Deserialize, Serialize};

use crate::credential::{jwt, now_ms};

/// Where, below the home.
const FILE: &str = "logs/usage.jsonl";
const OLD: &str = "logs/usage.1.jsonl";
/// About thirty thousand replies.
const BYTES_MAX: u64 = 8 * 1024 * 1024;

/// One reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub at: String,
    /// In which conversation.
    pub session: String,
    /// For what.
    pub role: Role,
    /// By whom.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// How much.
    pub usage: Usage,
    /// For how much.
    pub cost: Cost,
}

/// What was used for one role by one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Sum {
    /// For what.
    pub role: Option<Role>,
    /// By whom.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// How much.
    pub usage: Usage,
    /// The known part of the cost, in dollars.
    pub usd: f64,
    /// Whether the cost of some of it is unknown.
    pub has_unknown: bool,
}

/// Writes a reply down. A home that is not there stays so.
pub fn write(home: &Path, session: &SessionId, role: Role, reply: &Reply) -> io::Result<()> {
    if home.as_os_str().is_empty() || !home.is_dir() {
        return Ok(());
    }
    let entry = Entry {
        at: jwt::format_date(now_ms()),
        session: session.to_string(),
        role,
        provider: reply.served.provider.clone(),
        model: reply.served.model.clone(),
        usage: reply.usage,
        cost: reply.cost,
    };
    let file = home.join(FILE);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    if fs::metadata(&file).is_ok_and(|known| known.len() > BYTES_MAX) {
        fs::rename(&file, home.join(OLD))?;
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let line = serde_json::to_string(&entry).map_err(io::Error::other)?;
    // One write, so that lines of several processes never mix.
    options.open(&file)?.write_all(format!("{line}\n").as_bytes())
}

/// Everything that is written down, older first; lines that cannot be read are counted.
pub fn read(home: &Path) -> io::Result<(Vec<Entry>, usize)> {
    let (mut entries, mut unread) = (Vec::new(), 0);
    for name in [OLD, FILE] {
        let text = match fs::read_to_string(home.join(name)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for line in text.lines() {
            match serde_json::from_str(line) {
                Ok(entry) => entries.push(entry),
                Err(_) => unread += 1,
            }
        }
    }
    Ok((entries, unread))
}

/// The sums by role, provider and model.
pub fn sums<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<Sum> {
    let mut sums: BTreeMap<(Role, &str, &str), Sum> = BTreeMap::new();
    for entry in entries {
        let place = (entry.role, entry.provider.as_str(), entry.model.as_str());
        let sum = sums.entry(place).or_default();
        sum.role = Some(entry.role);
        sum.provider.clone_from(&entry.provider);
        sum.model.clone_from(&entry.model);
        sum.usage = sum.usage.plus(&entry.usage);
        match entry.cost {
            Cost::Actual { usd } | Cost::Estimated { usd } => sum.usd += usd,
            Cost::Included => {}
            Cost::Unknown => sum.has_unknown = true,
        }
    }
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_are_summed_by_role_and_a_broken_line_is_counted() {
        let home = tempfile::tempdir().unwrap();
        let session = SessionId::from("s");
        let reply = |usd| {
            let usage = Usage { input: 3, output: 2, requests: 1, ..Usage::default() };
            Reply { usage, cost: Cost::Estimated { usd }, ..Reply::default() }
        };
        write(home.path(), &session, Role::Main, &reply(0.5)).unwrap();
        write(home.path(), &session, Role::Main, &reply(0.25)).unwrap();
        write(home.path(), &session, Role::Compression, &Reply::default()).unwrap();
        let file = home.path().join(FILE);
        OpenOptions::new().append(true).open(&file).unwrap().write_all(b"{half a\n").unwrap();
        let (entries, unread) = read(home.path()).unwrap();
        assert_eq!((entries.len(), unread), (3, 1));
        let sums = sums(&entries);
        let shown: Vec<_> = sums.iter().map(|sum| (sum.role, sum.usage.output, sum.usd)).collect();
        assert_eq!(shown, [(Some(Role::Main), 4, 0.75), (Some(Role::Compression), 0, 0.0)]);
        assert!(sums[1].has_unknown);
        assert!(write(&home.path().join("gone"), &session, Role::Main, &reply(1.0)).is_ok());
        assert!(!home.path().join("gone").exists());
    }
}
