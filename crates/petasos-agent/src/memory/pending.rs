//! Notes that wait for a person, because strangers' words may be speaking: one file each below
//! `pending/memory` of the home.

use std::fs;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::CallContext;
use petasos_contract::context::{Principal, Surface};
use petasos_contract::taint::{Carry, Heat};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{Change, Kept, Memory, MemoryError, Target};

/// More than a person would ever decide about.
const WAITING_MAX: usize = 200;
/// Places that a note names.
const PLACES_MAX: usize = 3;

/// A change that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// What a person calls it by.
    pub id: String,
    /// Whose words may be speaking.
    pub from: String,
    /// The conversation that wants it.
    pub session: String,
    /// Since when, in seconds since the epoch.
    pub created_at: u64,
    /// The chat whose notes are meant; the home's own without one.
    #[serde(default)]
    pub notes: Option<String>,
    /// Which notes.
    pub target: Target,
    /// All of these or none.
    pub changes: Vec<Change>,
}

impl Pending {
    /// A change of a conversation that read words from these places.
    pub fn new(target: Target, changes: Vec<Change>, from: String, cx: &CallContext) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut digest = Sha256::new();
        digest.update(format!("{now:?} {} {}", cx.session.as_str(), cx.call.as_str()));
        let id =
            digest.finalize().iter().take(4).fold(0_u32, |id, byte| id << 8 | u32::from(*byte));
        let id = format!("{id:08x}");
        let (session, created_at) = (cx.session.as_str().to_owned(), now.as_secs());
        Self { id, from, session, created_at, notes: None, target, changes }
    }

    /// In one line.
    pub fn line(&self) -> String {
        let changes: Vec<String> = self.changes.iter().map(Change::line).collect();
        format!("`{}` {} (from {})", self.id, changes.join("; "), self.from)
    }
}

/// From where the words may be that a change would keep; nothing where they are the user's own.
/// Repeating what was read counts for as long as it is remembered, anything in the turn that read.
pub(crate) fn whose(changes: &[Change], cx: &CallContext) -> Option<String> {
    let is_off = matches!(cx.settings.text("security.taint"), Some("off" | "warn"));
    if is_off || cx.principal == Principal::Person {
        return None;
    }
    let kept: Vec<&str> = changes
        .iter()
        .filter_map(|change| match change {
            Change::Add(text) | Change::Replace(_, text) => Some(text.as_str()),
            Change::Remove(_) => None,
        })
        .collect();
    let carries = || !cx.words.carried(&kept.join("\n"), Carry::Anything).is_empty();
    let counts = match cx.words.heat() {
        Heat::Clean => false,
        Heat::Warm => carries(),
        Heat::Hot => true,
    };
    if !counts || kept.is_empty() {
        return None;
    }
    let mut places = Vec::new();
    for source in cx.words.sources().into_iter().rev() {
        let place = if source.place.is_empty() { source.tool } else { source.place };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places.truncate(PLACES_MAX);
    Some(places.join(", ").replace(['(', ')', '\n'], " "))
}

/// Whether somebody sits at the terminal: policy has put the question to them.
pub(crate) fn is_asked_in_place(cx: &CallContext) -> bool {
    cx.surface == Surface::Cli && cx.attended
}

impl Memory {
    /// Keeps a change for a person to decide.
    pub fn stage(&self, change: &Pending) -> Result<(), MemoryError> {
        let path = self.waiting.join(format!("{}.json", change.id));
        if self.all_waiting().len() >= WAITING_MAX {
            let full = std::io::Error::other("too many notes wait for the user: /memory pending");
            return Err(MemoryError::Io(self.waiting.clone(), full));
        }
        let change = Pending { notes: self.notes.clone(), ..change.clone() };
        let text = serde_json::to_vec_pretty(&change)
            .map_err(|error| MemoryError::Io(path.clone(), error.into()))?;
        petasos_fs::write(&path, &text, petasos_fs::Mode::Exactly(0o600))
            .map_err(|error| MemoryError::Io(path, error.into()))
    }

    /// The changes of these notes that wait, the oldest first.
    pub fn waiting(&self) -> Vec<Pending> {
        let mut all = self.all_waiting();
        all.retain(|one| one.notes == self.notes);
        all.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        all
    }

    fn all_waiting(&self) -> Vec<Pending> {
        let entries = fs::read_dir(&self.waiting).into_iter().flatten().flatten();
        let read = |path: PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
        entries.filter_map(|entry| read(entry.path())).collect()
    }

    /// The one of a name, or of the beginning of one.
    fn one_waiting(&self, id: &str) -> Result<Pending, MemoryError> {
        let fits = |one: &Pending| !id.is_empty() && one.id.starts_with(id);
        let mut fitting = self.waiting().into_iter().filter(fits);
        match (fitting.next(), fitting.next()) {
            (Some(one), None) => Ok(one),
            (Some(_), Some(_)) => Err(MemoryError::Ambiguous(id.to_owned())),
            (None, _) => Err(MemoryError::NotWaiting(id.to_owned())),
        }
    }

    /// A person agrees: the change is made, and its words say whose they are from now on.
    pub fn approve(&self, id: &str) -> Result<(Pending, Kept), MemoryError> {
        let waiting = self.one_waiting(id)?;
        let changes = waiting.changes.iter().cloned();
        let changes: Vec<Change> = changes.map(|it| it.labelled(&waiting.from)).collect();
        let kept = self.change(waiting.target, &changes)?;
        self.decided(&waiting)?;
        Ok((waiting, kept))
    }

    /// A person does not: it is dropped.
    pub fn reject(&self, id: &str) -> Result<Pending, MemoryError> {
        let waiting = self.one_waiting(id)?;
        self.decided(&waiting)?;
        Ok(waiting)
    }

    fn decided(&self, change: &Pending) -> Result<(), MemoryError> {
        let path = self.waiting.join(format!("{}.json", change.id));
        fs::remove_file(&path).map_err(|error| MemoryError::Io(path, error))
    }
}
