//! Long work on the whole file: checks, repairs, imports.
//!
//! It goes in small steps, each a transaction of its own, and leaves the file to others in between:
//! however long it takes, no turn of another process fails because of it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::SessionId;
use petasos_store::{Lease, StoreError, WaitingCalls};
use rusqlite::Connection;
use serde::Serialize;

use crate::import::{self, Imported, Source};
use crate::salvage;
use crate::sqlite::{failed, open_reader};
use crate::store::Store;
use crate::verify::{self, Finding, Verified};
use crate::{leases, messages, repair, sessions};

/// How long one step may take that cannot be cut into smaller ones.
pub(crate) const STEP_MAX: Duration = Duration::from_hours(2);
/// So many conversations are looked at in one step.
const LOOKED_AT: usize = 50;
/// So many rows are indexed in one step.
const INDEXED: i64 = 500;
/// After so much writing others get their chance, for so long.
const WRITING: Duration = Duration::from_millis(200);
pub(crate) const PAUSE: Duration = Duration::from_millis(30);
/// The indexes, with the view each is made from.
const INDEXES: [(&str, &str, &str); 2] = [
    ("messages_words", "messages_text", "content, tool, calls"),
    ("messages_trigrams", "messages_marks", "content"),
];

/// How far something long has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub what: &'static str,
    /// So much of it.
    pub done: u64,
    /// Out of so much; zero when nobody knows.
    pub total: u64,
}

/// What a repair did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// What was done, in words for a person.
    pub done: Vec<String>,
    /// What was left alone because somebody is at work on it.
    pub busy: Vec<String>,
    /// What is still not as it should be; empty means sound.
    pub findings: Vec<Finding>,
}

/// Lets others at the file now and then.
pub(crate) struct Pace(Instant);

impl Pace {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    pub(crate) async fn step(&mut self) {
        if self.0.elapsed() >= WRITING {
            tokio::time::sleep(PAUSE).await;
            self.0 = Instant::now();
        }
    }
}

impl Store {
    /// Looks whether the file, or one conversation, is sound. Changes nothing.
    pub async fn verify(
        &self,
        session: Option<&SessionId>,
        progress: impl Fn(Progress),
    ) -> Result<Verified, StoreError> {
        let mut found = Verified::default();
        let ids = if let Some(session) = session {
            vec![session.clone()]
        } else {
            progress(Progress { what: "the file", done: 0, total: 0 });
            found.findings = self.check_file().await?;
            self.readers.read("the conversations", verify::sessions).await?
        };
        let total = ids.len() as u64;
        for some in ids.chunks(LOOKED_AT) {
            let (some, me) = (some.to_vec(), Arc::clone(&self.party));
            let look = move |connection: &Connection| {
                let mut found = Verified::default();
                for id in &some {
                    found.add(verify::check_session(connection, id, &me)?);
                }
                Ok(found)
            };
            found.add(self.readers.read_within(STEP_MAX, "a check of conversations", look).await?);
            progress(Progress { what: "conversations", done: found.sessions, total });
        }
        Ok(found)
    }

    /// A connection that has searched before remembers how an index was made up, and would find
    /// fault with one that was rebuilt since: a new one looks.
    async fn check_file(&self) -> Result<Vec<Finding>, StoreError> {
        let path = self.path().to_owned();
        let look = move |_: &Connection| verify::check_file(&open_reader(&path)?);
        self.readers.read_within(STEP_MAX, "a check of the file", look).await
    }

    /// Rebuilds the search indexes and makes torn conversations whole; those that somebody is at
    /// work on are left alone. A file that is damaged itself is refused: [`Store::salvage`] saves
    /// what can be read of it.
    pub async fn repair(&self, progress: impl Fn(Progress)) -> Result<Repaired, StoreError> {
        progress(Progress { what: "the file", done: 0, total: 0 });
        let findings = self.check_file().await?;
        let in_index = |finding: &&Finding| INDEXES.iter().any(|(t, ..)| finding.what.contains(t));
        if let Some(finding) = findings.iter().find(|finding| !in_index(finding)) {
            return Err(StoreError::Damaged { detail: finding.what.clone() });
        }
        self.look_for_unsound(&progress).await?;
        let mut repaired = Repaired::default();
        self.rebuild(&progress).await?;
        repaired.done.push("search indexes were rebuilt".to_owned());
        self.close_turns(&mut repaired, &progress).await?;
        repaired.findings = self.verify(None, &progress).await?.findings;
        Ok(repaired)
    }

    /// A message that is not what was written means that pages of the file were, and only a
    /// salvage leaves it out.
    async fn look_for_unsound(&self, progress: &impl Fn(Progress)) -> Result<(), StoreError> {
        let ids = self.readers.read("the conversations", verify::sessions).await?;
        let total = ids.len() as u64;
        for (at, id) in ids.into_iter().enumerate() {
            progress(Progress { what: "conversations", done: at as u64, total });
            let session = id.clone();
            let look = move |connection: &Connection| verify::unsound(connection, &session);
            if let Some(seq) = self.readers.read_within(STEP_MAX, "a conversation", look).await? {
                let detail = format!("{id}: message {seq} is not what was written");
                return Err(StoreError::Damaged { detail });
            }
        }
        Ok(())
    }

    async fn close_turns(
        &self,
        repaired: &mut Repaired,
        progress: &impl Fn(Progress),
    ) -> Result<(), StoreError> {
        let ids = self.readers.read("the conversations", verify::sessions).await?;
        let (mut pace, total) = (Pace::new(), ids.len() as u64);
        for (at, id) in ids.into_iter().enumerate() {
            progress(Progress { what: "conversations", done: at as u64, total });
            let session = id.clone();
            let look = move |connection: &Connection| {
                let rows = messages::rows(connection, &session, false)?;
                let counted = sessions::head(connection, &session)?.messages;
                Ok(repair::faults(&rows).is_empty() && counted == rows.len() as u64)
            };
            if self.readers.read_within(STEP_MAX, "a conversation", look).await? {
                continue;
            }
            let (session, me) = (id.clone(), Arc::clone(&self.party));
            let job =
                move |connection: &Connection| match leases::holder(connection, &session, &me)? {
                    Some(holder) => Ok(Err(holder)),
                    None => repair::close(connection, &session, WaitingCalls::Close).map(Ok),
                };
            match self.writer.write("a repair of a conversation", job).await? {
                Ok(words) => {
                    repaired.done.extend(words.into_iter().map(|what| format!("{id}: {what}")));
                }
                Err(holder) => {
                    repaired.busy.push(format!("{id} is in use by {holder}: left alone"));
                }
            }
            pace.step().await;
        }
        Ok(())
    }

    /// Makes the search indexes anew. Deletions wait until it is done: an index that does not know
    /// a row yet cannot forget it.
    async fn rebuild(&self, progress: &impl Fn(Progress)) -> Result<(), StoreError> {
        let me = Arc::clone(&self.party);
        let everything = SessionId::new(leases::EVERYTHING);
        let job = move |connection: &Connection| {
            let lease = leases::claim(connection, &everything, "a repair", &me)?;
            for (index, ..) in INDEXES {
                let sql = format!("INSERT INTO {index}({index}) VALUES ('delete-all')");
                connection.execute(&sql, []).map_err(failed)?;
            }
            let sql = "SELECT coalesce(max(id), 0) FROM messages";
            let last: i64 = connection.query_row(sql, [], |row| row.get(0)).map_err(failed)?;
            Ok((lease, last))
        };
        let (lease, last) = self.writer.write("a repair of the indexes", job).await?;
        let filled = self.fill(&lease, last, progress).await;
        let job = move |connection: &Connection| leases::release(connection, &lease);
        self.writer.write("a repair of the indexes", job).await?;
        filled
    }

    async fn fill(
        &self,
        lease: &Lease,
        last: i64,
        progress: &impl Fn(Progress),
    ) -> Result<(), StoreError> {
        let mut pace = Pace::new();
        let total = u64::try_from(last).unwrap_or_default();
        for from in (1..=last).step_by(usize::try_from(INDEXED).unwrap_or(usize::MAX)) {
            let until = last.min(from + INDEXED - 1);
            let (lease, me) = (lease.clone(), Arc::clone(&self.party));
            let job = move |connection: &Connection| {
                leases::renew(connection, &lease, &me)?;
                for (index, view, columns) in INDEXES {
                    let sql = format!(
                        "INSERT INTO {index}(rowid, {columns}) SELECT id, {columns} FROM {view} \
                         WHERE id BETWEEN ?1 AND ?2"
                    );
                    connection.execute(&sql, [from, until]).map_err(failed)?;
                }
                Ok(())
            };
            self.writer.write("a repair of the indexes", job).await?;
            let done = u64::try_from(until).unwrap_or_default();
            progress(Progress { what: "search indexes", done, total });
            pace.step().await;
        }
        Ok(())
    }

    /// Saves everything that can still be read of a damaged file into a new one at its place, and
    /// says what was lost. The damaged file stays beside it. Refused while another process has the
    /// file open.
    pub fn salvage(path: &Path) -> Result<Vec<String>, StoreError> {
        salvage::salvage(path)
    }

    /// Takes over the conversations of another agent's database, which is only read.
    pub async fn import_hermes(
        &self,
        from: &Path,
        progress: impl Fn(Progress),
    ) -> Result<Imported, StoreError> {
        let source = Source::open(from)?;
        let foreign = source.sessions()?;
        let (total, source) = (foreign.len() as u64, Arc::new(Mutex::new(source)));
        let (mut done, mut pace) = (Imported::default(), Pace::new());
        for (at, session) in foreign.into_iter().enumerate() {
            progress(Progress { what: "conversations", done: at as u64, total });
            let source = Arc::clone(&source);
            let job = move |connection: &Connection| source.lock().take(connection, session);
            match self.writer.write("an import", job).await {
                Ok(taken) => done.add(taken),
                Err(error) if done.sessions == 0 => return Err(error),
                Err(error) => {
                    done.stopped = Some(error.to_string());
                    break;
                }
            }
            pace.step().await;
        }
        Ok(done)
    }

    /// What an import would do, without doing it.
    pub async fn preview_import(&self, from: &Path) -> Result<Imported, StoreError> {
        let from = from.to_owned();
        let look = move |connection: &Connection| import::preview(connection, &from);
        self.readers.read_within(STEP_MAX, "a look at an import", look).await
    }
}
