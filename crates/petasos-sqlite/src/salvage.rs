//! Everything that can still be read of a damaged file, in a new one.
//!
//! Pages are read one by one, so that a bad one costs its own rows and no others: trees are walked
//! from their roots, and leaves that no tree leads to any more are looked for among the rest. The
//! new file takes the place of the old one when it is sound, not before; the damaged one stays
//! beside it.

mod pages;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use petasos_contract::SessionId;
use petasos_store::StoreError;
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use self::pages::{Pages, Record, Walk};
use crate::leases::Party;
use crate::sqlite::{failed, prepare_file, prepare_pages};
use crate::stamp::now_ms;
use crate::{messages, migrations, repair, sessions, verify};

/// The tables whose rows cannot be made again. Leases do not outlive their processes, and questions
/// are asked again.
const TABLES: [&str; 13] = [
    "sessions",
    "messages",
    "calls",
    "usage",
    "board_tasks",
    "board_links",
    "board_runs",
    "board_comments",
    "board_events",
    "board_files",
    "jobs",
    "occurrences",
    "api_tokens",
];
/// Tables that a file of an older format does not have begin like this.
const LATER: [&str; 4] = ["board_", "jobs", "occurrences", "api_"];
/// Tables whose first column is the number of the row, which the row itself does not hold.
const NUMBERED: [&str; 5] =
    ["messages", "board_runs", "board_comments", "board_events", "board_files"];

/// Saves what can be read of a damaged file into a new one at the same path.
pub(crate) fn salvage(path: &Path) -> Result<Vec<String>, StoreError> {
    let io = |error: std::io::Error| StoreError::Failed(format!("`{}`: {error}", path.display()));
    let now = now_ms();
    let (fresh, kept) =
        (beside(path, &format!(".salvage-{now}")), beside(path, &format!(".damaged-{now}")));
    let file = File::options().read(true).write(true).open(path).map_err(io)?;
    // Every process that has the file open holds a part of it; the lock goes with `file`.
    let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
    if rustix::fs::fcntl_lock(&file, lock).is_err() {
        let why = "another process has the session database open: end it, then repair again";
        return Err(StoreError::Failed(why.to_owned()));
    }
    let log = match std::fs::read(beside(path, "-wal")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        read => read.map_err(io)?,
    };
    let pages = Pages::new(file.try_clone().map_err(io)?, &log).map_err(io)?;
    let mut done = match rescue(&pages, &fresh) {
        Ok(done) => done,
        Err(error) => {
            for tail in ["", "-wal", "-shm"] {
                discard(&beside(&fresh, tail));
            }
            return Err(error);
        }
    };
    std::fs::hard_link(path, &kept).map_err(io)?;
    // The old log must not be there when the new file is: SQLite would apply one to the other.
    for tail in ["-wal", "-shm"] {
        let from = beside(path, tail);
        if from.exists() {
            std::fs::rename(&from, beside(&kept, tail)).map_err(io)?;
        }
    }
    std::fs::rename(&fresh, path).map_err(io)?;
    done.push(format!("the damaged file is kept as `{}`", kept.display()));
    Ok(done)
}

fn discard(path: &Path) {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            tracing::warn!(%error, path = %path.display(), "an unfinished file was not removed");
        }
        _ => {}
    }
}

/// Makes the new file and looks whether it is sound.
fn rescue(pages: &Pages, fresh: &Path) -> Result<Vec<String>, StoreError> {
    prepare_file(fresh)?;
    let mut new = Connection::open(fresh).map_err(failed)?;
    prepare_pages(&new)?;
    new.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    new.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    migrations::apply(&mut new)?;
    new.execute_batch("BEGIN").map_err(failed)?;
    let mut saved = Saved::new(&new)?;
    saved.take(pages)?;
    let mut done = saved.finish()?;
    new.execute_batch("COMMIT").map_err(failed)?;
    for id in verify::sessions(&new)? {
        let faults = repair::faults(&messages::rows(&new, &id, false)?);
        let cause = repair::Cause::Lost(repair::journal(&new, &id)?);
        let words = repair::mend(&new, &id, &faults, &cause)?;
        done.extend(words.into_iter().map(|what| format!("{id}: {what}")));
        sessions::recount(&new, &id)?;
    }
    let mut findings = verify::check_file(&new)?;
    for id in verify::sessions(&new)? {
        findings.extend(verify::check_session(&new, &id, &Party::new())?.findings);
    }
    match findings.first() {
        None => Ok(done),
        Some(finding) => {
            let detail = format!("what could be saved is not sound either: {}", finding.what);
            Err(StoreError::Damaged { detail })
        }
    }
}

/// The new file while it is filled.
struct Saved<'a> {
    new: &'a Connection,
    columns: BTreeMap<&'static str, Vec<String>>,
    counts: BTreeMap<&'static str, u64>,
    /// Rows that were found and not taken.
    lost: u64,
    /// Pages that could not be read.
    bad: u64,
    /// Conversations whose heads were lost, and all that is known of them.
    headless: BTreeSet<String>,
}

impl<'a> Saved<'a> {
    fn new(new: &'a Connection) -> Result<Self, StoreError> {
        let mut columns = BTreeMap::new();
        for table in TABLES {
            let sql = format!("SELECT * FROM {table}");
            let statement = new.prepare(&sql).map_err(failed)?;
            columns.insert(table, statement.column_names().map(str::to_owned).collect());
        }
        let (counts, headless) = (BTreeMap::new(), BTreeSet::new());
        Ok(Self { new, columns, counts, lost: 0, bad: 0, headless })
    }

    fn take(&mut self, pages: &Pages) -> Result<(), StoreError> {
        let (mut walk, mut roots) = (Walk::default(), BTreeMap::new());
        pages.walk(1, &mut walk, &mut |record| {
            if let [_, Value::Text(name), _, Value::Integer(root), ..] = record.values.as_slice() {
                roots.insert(name.clone(), u32::try_from(*root).unwrap_or_default());
            }
        });
        for table in TABLES {
            let mut rows = Vec::new();
            match roots.remove(table) {
                Some(root) => pages.walk(root, &mut walk, &mut |record| rows.push(record)),
                None if LATER.iter().any(|start| table.starts_with(start)) => {}
                None => walk.bad += 1,
            }
            for row in rows {
                self.put(table, row)?;
            }
        }
        (self.bad, self.lost) = (walk.bad, self.lost + walk.torn);
        if self.bad == 0 {
            return Ok(());
        }
        // A bad page inside a tree hides whole leaves. What other trees lead to is theirs.
        for root in roots.into_values().filter(|root| *root != 0) {
            pages.walk(root, &mut walk, &mut |_| {});
        }
        let free = pages.free().unwrap_or_default();
        let strays = (1..=pages.count())
            .filter(|number| !walk.seen.contains(number) && !free.contains(number));
        let mut strays: Vec<(&'static str, Record)> =
            strays.flat_map(|number| pages.leaf(number)).filter_map(known).collect();
        strays.sort_by_key(|(table, _)| TABLES.iter().position(|one| one == table));
        for (table, row) in strays {
            self.put(table, row)?;
        }
        Ok(())
    }

    /// Adds one row, unless it is there.
    fn put(&mut self, table: &'static str, row: Record) -> Result<(), StoreError> {
        let Record { rowid, mut values } = row;
        if NUMBERED.contains(&table)
            && let Some(first) = values.first_mut()
        {
            *first = Value::Integer(rowid);
        }
        if table == "messages" {
            self.ensure_head(&values)?;
        }
        let all = self.columns.get(table).map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> = all.iter().map(String::as_str).take(values.len()).collect();
        values.truncate(names.len());
        let marks: Vec<String> = (1..=names.len()).map(|at| format!("?{at}")).collect();
        let sql = format!(
            "INSERT OR IGNORE INTO {table}({}) VALUES ({})",
            names.join(", "),
            marks.join(", ")
        );
        let done =
            self.new.prepare_cached(&sql).and_then(|mut sql| sql.execute(params_from_iter(values)));
        match done {
            Ok(count) => *self.counts.entry(table).or_default() += count as u64,
            Err(_) => self.lost += 1,
        }
        Ok(())
    }

    /// A message whose conversation has lost its head gets a plain one.
    fn ensure_head(&mut self, values: &[Value]) -> Result<(), StoreError> {
        let (Some(Value::Text(session)), Some(Value::Integer(at_ms))) =
            (values.get(1), values.get(3))
        else {
            return Ok(());
        };
        let sql = "INSERT INTO sessions(id, source, root, started_ms, updated_ms) \
                   SELECT ?1, 'cli', ?1, ?2, ?2 \
                   WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE id = ?1)";
        let made =
            self.new.prepare_cached(sql).and_then(|mut sql| sql.execute(params![session, at_ms]));
        if made.map_err(failed)? > 0 {
            self.headless.insert(session.clone());
        }
        Ok(())
    }

    /// Leaves out rows that are not what was written; gives what was saved and lost, in words.
    fn finish(mut self) -> Result<Vec<String>, StoreError> {
        self.weed()?;
        for session in &self.headless {
            let id = SessionId::new(session.as_str());
            let sql = "UPDATE sessions SET last_seq = (SELECT max(id) FROM messages \
                       WHERE session = ?1), updated_ms = coalesce((SELECT max(at_ms) FROM messages \
                       WHERE session = ?1), updated_ms), preview = coalesce((SELECT \
                       substr(content, 1, 120) FROM messages WHERE session = ?1 AND role = 'user' \
                       ORDER BY id LIMIT 1), '') WHERE id = ?1";
            self.new.execute(sql, [id.as_str()]).map_err(failed)?;
        }
        let count = |table: &str| self.counts.get(table).copied().unwrap_or_default();
        let mut done = vec![format!(
            "{} conversations with {} messages were saved",
            count("sessions") + self.headless.len() as u64,
            count("messages")
        )];
        if count("jobs") > 0 {
            done.push(format!("{} schedules were saved", count("jobs")));
        }
        if self.bad > 0 || self.lost > 0 {
            done.push(format!(
                "{} pages of the file could not be read, and {} rows that were found in others are \
                 not what was written: what they held is lost",
                self.bad, self.lost
            ));
        }
        if !self.headless.is_empty() {
            let ids: Vec<&str> = self.headless.iter().map(String::as_str).collect();
            done.push(format!("title, model and usage are lost of {}", ids.join(", ")));
        }
        Ok(done)
    }

    fn weed(&mut self) -> Result<(), StoreError> {
        let sql = format!("SELECT {} FROM messages", messages::columns());
        let mut broken: Vec<i64> = Vec::new();
        {
            let mut statement = self.new.prepare(&sql).map_err(failed)?;
            let mut rows = statement.query([]).map_err(failed)?;
            while let Some(row) = rows.next().map_err(failed)? {
                if !matches!(messages::read_row(row), Ok((_, true))) {
                    broken.push(row.get(0).map_err(failed)?);
                }
            }
        }
        for id in &broken {
            self.new.execute("DELETE FROM messages WHERE id = ?1", [id]).map_err(failed)?;
        }
        let count = broken.len() as u64;
        self.lost += count;
        if let Some(saved) = self.counts.get_mut("messages") {
            *saved = saved.saturating_sub(count);
        }
        Ok(())
    }
}

/// The table that a row without a tree belongs to, by its shape.
fn known(row: Record) -> Option<(&'static str, Record)> {
    use Value::{Integer, Null, Text};
    let table = match row.values.as_slice() {
        [Null, Text(_), Integer(_), Integer(_), Text(role), rest @ ..]
            if rest.len() == 15 && matches!(role.as_str(), "user" | "assistant" | "tool") =>
        {
            "messages"
        }
        [Text(_), Text(_), rest @ ..]
            if rest.len() >= 24
                && matches!(rest.get(7..10), Some([Text(_), Integer(_), Integer(_)])) =>
        {
            "sessions"
        }
        [Text(_), Text(_), Integer(_), _, _, Integer(_)] if row.rowid == 0 => "calls",
        [Text(_), Text(_), Text(_), Text(_), Text(_), Text(_), rest @ ..]
            if row.rowid == 0 && rest.len() == 8 =>
        {
            "usage"
        }
        [
            Text(id),
            Text(_),
            Text(_),
            Text(_),
            Text(body),
            Integer(_),
            _,
            Integer(_),
            Text(_),
            rest @ ..,
        ] if row.rowid == 0 && rest.len() == 2 && id.len() == 12 && body.starts_with('{') => "jobs",
        [Text(_), Text(job), Text(_), Integer(_), Integer(_), Text(_), Text(_), rest @ ..]
            if row.rowid == 0 && rest.len() == 11 && job.len() == 12 =>
        {
            "occurrences"
        }
        _ => return None,
    };
    Some((table, row))
}

fn beside(path: &Path, tail: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(tail);
    path.with_file_name(name)
}
