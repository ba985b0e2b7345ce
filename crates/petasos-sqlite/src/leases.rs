//! Leases: one at a time adds to a conversation, and everybody sees who.
//!
//! A lease that is not renewed ends by itself. On the machine of its holder nobody has to wait for
//! that: a process that is gone holds nothing.

use petasos_contract::SessionId;
use petasos_store::{Holder, LEASE, Lease, StoreError};
use rusqlite::{Connection, OptionalExtension, params};

use crate::sessions;
use crate::sqlite::failed;
use crate::stamp::{new_session_id, now_ms};

/// Stands for the whole file: whoever rebuilds something that all conversations share has it.
pub(crate) const EVERYTHING: &str = "*";

/// The holder's side of a lease: this process, and this opened store.
#[derive(Debug, Clone)]
pub(crate) struct Party {
    /// Tells one opened store from another, also in one process.
    store: String,
    pid: u32,
    born: String,
    machine: String,
    host: String,
}

impl Party {
    /// This process, with a store that it opens now.
    pub(crate) fn new() -> Self {
        let pid = std::process::id();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self {
            store: format!("{pid}-{}-{}", now_ms(), new_session_id()),
            pid,
            born: born(pid).unwrap_or_default(),
            machine: machine().unwrap_or_else(|| host.clone()),
            host,
        }
    }

    /// What rows carry that we work on.
    pub(crate) fn mark(&self) -> String {
        [self.store.as_str(), &self.pid.to_string(), &self.born, &self.machine].join("\n")
    }

    /// Whether whoever left this mark is certainly gone. Somebody on another machine never is.
    pub(crate) fn is_gone(&self, mark: &str) -> bool {
        let mut parts = mark.splitn(4, '\n');
        let (Some(store), Some(pid), Some(born), Some(machine)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return true;
        };
        let pid: u32 = pid.parse().unwrap_or_default();
        store != self.store && machine == self.machine && !is_alive(pid, born)
    }
}

/// A row of the table.
struct Row {
    token: String,
    store: String,
    born: String,
    machine: String,
    until_ms: i64,
    holder: Holder,
}

impl Row {
    fn is_live(&self, me: &Party) -> bool {
        let left = self.until_ms - now_ms();
        // A clock that was set back must not make a lease last.
        let in_time = (0..=2 * lease_ms()).contains(&left);
        in_time && (self.machine != me.machine || is_alive(self.holder.pid, &self.born))
    }
}

fn lease_ms() -> i64 {
    i64::try_from(LEASE.as_millis()).unwrap_or(i64::MAX)
}

/// Who has the lease.
pub(crate) fn holder(
    connection: &Connection,
    session: &SessionId,
    me: &Party,
) -> Result<Option<Holder>, StoreError> {
    Ok(live(connection, session, me)?.map(|row| row.holder))
}

fn live(
    connection: &Connection,
    session: &SessionId,
    me: &Party,
) -> Result<Option<Row>, StoreError> {
    let sql = "SELECT token, store, purpose, pid, born, machine, host, since_ms, until_ms \
               FROM leases WHERE session = ?1";
    let row = connection
        .prepare_cached(sql)
        .and_then(|mut sql| {
            let read = |row: &rusqlite::Row<'_>| {
                let (machine, host): (String, String) = (row.get(5)?, row.get(6)?);
                Ok(Row {
                    token: row.get(0)?,
                    store: row.get(1)?,
                    born: row.get(4)?,
                    until_ms: row.get(8)?,
                    holder: Holder {
                        purpose: row.get(2)?,
                        pid: row.get(3)?,
                        host: (machine != me.machine).then_some(host),
                        since_ms: row.get(7)?,
                    },
                    machine,
                })
            };
            sql.query_row([session.as_str()], read).optional()
        })
        .map_err(failed)?;
    Ok(row.filter(|row| row.is_live(me)))
}

/// Takes the lease, or says who has it.
pub(crate) fn claim(
    connection: &Connection,
    session: &SessionId,
    purpose: &str,
    me: &Party,
) -> Result<Lease, StoreError> {
    let (last, messages) = if session.as_str() == EVERYTHING {
        (None, 0)
    } else {
        sessions::extent(connection, session)?
    };
    if let Some(row) = live(connection, session, me)? {
        return Err(StoreError::Leased { session: session.clone(), holder: row.holder });
    }
    let token = format!("{}-{}", me.store, new_session_id());
    let lease = Lease { session: session.clone(), token, last, messages };
    let now = now_ms();
    let sql = "INSERT OR REPLACE INTO leases(session, token, store, purpose, pid, born, machine, \
               host, since_ms, until_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    connection
        .prepare_cached(sql)
        .and_then(|mut sql| {
            sql.execute(params![
                session.as_str(),
                lease.token,
                me.store,
                purpose,
                me.pid,
                me.born,
                me.machine,
                me.host,
                now,
                now + lease_ms()
            ])
        })
        .map_err(failed)?;
    Ok(lease)
}

/// Makes a lease last. One that has lapsed and that nobody took since goes on.
pub(crate) fn renew(connection: &Connection, lease: &Lease, me: &Party) -> Result<(), StoreError> {
    let sql = "UPDATE leases SET until_ms = ?3 WHERE session = ?1 AND token = ?2";
    let until = now_ms() + lease_ms();
    let changed = connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.execute(params![lease.session.as_str(), lease.token, until]))
        .map_err(failed)?;
    if changed == 1 {
        return Ok(());
    }
    match live(connection, &lease.session, me)? {
        Some(row) => Err(StoreError::Leased { session: lease.session.clone(), holder: row.holder }),
        None => Err(StoreError::Conflict { session: lease.session.clone() }),
    }
}

/// Gives a lease back.
pub(crate) fn release(connection: &Connection, lease: &Lease) -> Result<(), StoreError> {
    let sql = "DELETE FROM leases WHERE session = ?1 AND token = ?2";
    connection.execute(sql, params![lease.session.as_str(), lease.token]).map(drop).map_err(failed)
}

/// Refuses when somebody else has the lease. Asked in the transaction that changes something.
pub(crate) fn free(
    connection: &Connection,
    session: &SessionId,
    me: &Party,
) -> Result<(), StoreError> {
    match live(connection, session, me)? {
        Some(row) if row.store != me.store => {
            Err(StoreError::Leased { session: session.clone(), holder: row.holder })
        }
        _ => Ok(()),
    }
}

/// Refuses unless this lease still holds.
pub(crate) fn held(connection: &Connection, lease: &Lease, me: &Party) -> Result<(), StoreError> {
    match live(connection, &lease.session, me)? {
        Some(row) if row.token == lease.token => Ok(()),
        Some(row) => Err(StoreError::Leased { session: lease.session.clone(), holder: row.holder }),
        None => Err(StoreError::Conflict { session: lease.session.clone() }),
    }
}

/// Something that two processes have in common exactly when each can see whether the other lives.
fn machine() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// When a process began, in the system's own words; nothing where the system does not tell, and
/// for one that is dead and whose parent has not looked.
fn born(pid: u32) -> Option<String> {
    const START: usize = 19;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program is in parentheses and may contain anything.
    let (_, numbers) = stat.rsplit_once(')')?;
    let mut numbers = numbers.split_whitespace();
    let lives = numbers.clone().next().is_some_and(|state| !matches!(state, "Z" | "X"));
    numbers.nth(START).filter(|_| lives).map(str::to_owned)
}

fn is_alive(pid: u32, then: &str) -> bool {
    if !then.is_empty() {
        return born(pid).as_deref() == Some(then);
    }
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    // Whoever may not be asked is there.
    rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An editor that does not look after its dead agent must not keep others waiting.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a process that ends at once")]
    fn a_process_that_is_dead_and_not_looked_after_does_not_live() {
        let own = std::process::id();
        assert!(is_alive(own, &born(own).unwrap()));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let then = born(child.id()).unwrap();
        assert!(is_alive(child.id(), &then));
        child.kill().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while is_alive(child.id(), &then) {
            assert!(std::time::Instant::now() < deadline, "it counts as living");
            std::thread::yield_now();
        }
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
        assert!(stat.is_ok(), "nobody has looked after it yet");
        child.wait().unwrap();
    }
}
