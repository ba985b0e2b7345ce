//! Notes that outlive a conversation: two bounded files of short entries.
//!
//! `MEMORY.md` holds the agent's notes, `USER.md` what it knows about the user. A change takes the
//! file's lock, reads again, checks everything and replaces the file in one step, or changes
//! nothing. What looks like orders is refused on the way in and left out of the prompt.

pub mod pending;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use petasos_contract::id::UserId;
use petasos_contract::{Address, Settings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::threat;

/// Between two entries stands a line with this.
const SEPARATOR: &str = "\n§\n";
const LOCK_WAIT_MAX: Duration = Duration::from_secs(5);

/// Which notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The agent's own.
    Memory,
    /// About the user.
    User,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A new entry.
    Add(String),
    /// Another text for the entry that has this in it.
    Replace(String, String),
    /// The entry that has this in it goes.
    Remove(String),
}

impl Change {
    /// The same, with whose words they are at the end of what is new.
    #[must_use]
    pub fn labelled(self, from: &str) -> Self {
        let with = |text: String| match place(&text) {
            None if !from.is_empty() => format!("{} (from {from})", text.trim()),
            Some(_) | None => text,
        };
        match self {
            Self::Add(text) => Self::Add(with(text)),
            Self::Replace(old, text) => Self::Replace(old, with(text)),
            Self::Remove(old) => Self::Remove(old),
        }
    }

    /// In one line.
    pub fn line(&self) -> String {
        match self {
            Self::Add(text) => format!("+ {text}"),
            Self::Replace(old, text) => format!("{old} → {text}"),
            Self::Remove(old) => format!("- {old}"),
        }
    }
}

/// Whose words an entry holds: `Invoices go to Eve (from news.example)`.
pub(crate) fn place(entry: &str) -> Option<&str> {
    let (_, place) = entry.trim().strip_suffix(')')?.rsplit_once(" (from ")?;
    Some(place)
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// No entry has the text.
    #[error("no entry contains `{0}`: quote a part of one exactly")]
    NoMatch(String),
    /// Several entries have the text.
    #[error("several entries contain `{0}`: quote more of the one that is meant")]
    Ambiguous(String),
    /// Nothing of the name waits.
    #[error("no note `{0}` waits: `/memory pending` lists them")]
    NotWaiting(String),
    /// The text is empty.
    #[error("the text is empty: say what is to be remembered")]
    Empty,
    /// The text looks like orders.
    #[error("not remembered: the text {0}")]
    Threat(String),
    /// The file would be too long.
    #[error(
        "this would exceed the limit ({would}/{limit} characters): shorten or remove entries first"
    )]
    Full {
        /// What it would be.
        would: usize,
        /// What it may be.
        limit: usize,
        /// What is there.
        entries: Vec<String>,
    },
    /// The notes are switched off.
    #[error("these notes are switched off in the configuration")]
    Off,
    /// The file was changed by hand in a way that does not read back.
    #[error("`{0}` would not read back as it is: a copy was kept beside it, edit it by hand first")]
    Unclean(PathBuf),
    /// The disk.
    #[error("`{path}`: {error}", path = .0.display(), error = .1)]
    Io(PathBuf, io::Error),
}

/// What a change came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Characters in use.
    pub used: usize,
    /// Characters at most.
    pub limit: usize,
    /// How many entries there are.
    pub entries: usize,
    /// Whether anything changed.
    pub changed: bool,
}

/// The name of the notes of a chat: nobody else's conversation reads or writes them. Identities
/// may hold anything, so that the name is a digest.
pub fn notes_of(owner: &Address) -> String {
    use sha2::{Digest as _, Sha256};
    let parts = [Some(owner.platform.as_str()), Some(owner.chat.as_str())];
    let user = owner.user.as_ref().map(UserId::as_str);
    let mut digest = Sha256::new();
    for part in parts.into_iter().chain([user]) {
        // A length before each part keeps two identities from reading alike.
        digest.update(part.map_or(u64::MAX, |part| part.len() as u64).to_be_bytes());
        digest.update(part.unwrap_or_default().as_bytes());
    }
    let digest = digest.finalize();
    let number = digest.iter().take(12).fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
    let platform: String =
        owner.platform.as_str().chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{platform}-{number:024x}")
}

/// The notes of one home, or of one chat.
#[derive(Debug, Clone)]
pub struct Memory {
    folder: PathBuf,
    /// Where changes wait for a person.
    waiting: PathBuf,
    /// The chat that they belong to.
    notes: Option<String>,
    limits: [usize; 2],
    on: [bool; 2],
}

impl Memory {
    /// Those of a conversation: the home's own, or those of the chat that is named.
    pub fn of(settings: &Settings, notes: Option<&str>) -> Self {
        let number = |key: &str, usual: usize| {
            let value = settings.get(key).and_then(Value::as_u64);
            value.and_then(|value| usize::try_from(value).ok()).unwrap_or(usual)
        };
        let on = |key: &str| settings.get(key) != Some(&Value::Bool(false));
        let folder = settings.home().join("memories");
        Self {
            waiting: settings.home().join("pending/memory"),
            notes: notes.map(str::to_owned),
            folder: notes.map_or_else(|| folder.clone(), |name| folder.join("chats").join(name)),
            limits: [
                number("memory.memory_char_limit", 2200),
                number("memory.user_char_limit", 1375),
            ],
            on: [on("memory.memory_enabled"), on("memory.user_profile_enabled")],
        }
    }

    fn file(&self, target: Target) -> PathBuf {
        self.folder.join(match target {
            Target::Memory => "MEMORY.md",
            Target::User => "USER.md",
        })
    }

    fn limit(&self, target: Target) -> usize {
        self.limits[usize::from(target == Target::User)]
    }

    /// The entries; none when they are switched off or there is no file.
    pub fn entries(&self, target: Target) -> Result<Vec<String>, MemoryError> {
        if !self.on[usize::from(target == Target::User)] {
            return Ok(Vec::new());
        }
        let path = self.file(target);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(split(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(MemoryError::Io(path, error)),
        }
    }

    /// The text for a prompt; entries that look like orders are named and left out.
    pub fn snapshot(&self, target: Target) -> Result<Option<String>, MemoryError> {
        let entries = self.entries(target)?;
        if entries.is_empty() {
            return Ok(None);
        }
        let safe = |entry: &String| match threat::findings(entry).as_slice() {
            [] => entry.clone(),
            found => format!("[an entry was left out: it {}]", found.join(", ")),
        };
        Ok(Some(entries.iter().map(safe).collect::<Vec<_>>().join(SEPARATOR)))
    }

    /// Makes all of these changes or none.
    pub fn change(&self, target: Target, changes: &[Change]) -> Result<Kept, MemoryError> {
        if !self.on[usize::from(target == Target::User)] {
            return Err(MemoryError::Off);
        }
        let path = self.file(target);
        let io = |error| MemoryError::Io(path.clone(), error);
        let lock = petasos_fs::lock_within(&self.folder.join(".lock"), LOCK_WAIT_MAX);
        let _lock = lock.map_err(|error| io(error.into()))?;
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(io(error)),
        };
        let before = split(&text);
        let adds_only = changes.iter().all(|change| matches!(change, Change::Add(_)));
        if !adds_only && before.join(SEPARATOR) != text.trim() {
            fs::copy(&path, path.with_extension("md.bak")).map_err(io)?;
            return Err(MemoryError::Unclean(path));
        }
        let mut entries = before.clone();
        for change in changes {
            apply(&mut entries, change)?;
        }
        let next = entries.join(SEPARATOR);
        let (used, limit) = (next.chars().count(), self.limit(target));
        if used > limit && entries != before {
            return Err(MemoryError::Full { would: used, limit, entries: before });
        }
        let is_new = entries != before;
        if is_new {
            let mode = petasos_fs::Mode::Exactly(0o600);
            let replaced = petasos_fs::write(&path, next.as_bytes(), mode);
            replaced.map_err(|error| io(error.into()))?;
        }
        Ok(Kept { used, limit, entries: entries.len(), changed: is_new })
    }
}

fn split(text: &str) -> Vec<String> {
    let mut entries = vec![Vec::new()];
    for line in text.lines() {
        if line.trim() == "§" {
            entries.push(Vec::new());
        } else if let Some(last) = entries.last_mut() {
            last.push(line);
        }
    }
    let joined = entries.into_iter().map(|lines| lines.join("\n").trim().to_owned());
    joined.filter(|entry| !entry.is_empty()).collect()
}

fn apply(entries: &mut Vec<String>, change: &Change) -> Result<(), MemoryError> {
    match change {
        Change::Add(text) => {
            let text = checked(text)?;
            if !entries.contains(&text) {
                entries.push(text);
            }
        }
        Change::Replace(old, text) => {
            let text = checked(text)?;
            let at = find(entries, old)?;
            entries[at] = text;
        }
        Change::Remove(old) => {
            let at = find(entries, old)?;
            entries.remove(at);
        }
    }
    Ok(())
}

fn checked(text: &str) -> Result<String, MemoryError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(MemoryError::Empty);
    }
    // A line with the separator would make two entries of one.
    let text = split(text).join("\n");
    match threat::findings(&text).as_slice() {
        [] => Ok(text),
        found => Err(MemoryError::Threat(found.join(", "))),
    }
}

fn find(entries: &[String], old: &str) -> Result<usize, MemoryError> {
    let old = old.trim();
    if old.is_empty() {
        return Err(MemoryError::Empty);
    }
    let mut found = entries.iter().enumerate().filter(|(_, entry)| entry.contains(old));
    let Some((at, first)) = found.next() else { return Err(MemoryError::NoMatch(old.to_owned())) };
    if found.any(|(_, other)| other != first) {
        return Err(MemoryError::Ambiguous(old.to_owned()));
    }
    Ok(at)
}
