//! The right to add to a conversation: for one at a time, in whichever process.

use std::fmt;
use std::time::Duration;

use petasos_contract::id::SessionId;
use serde::Serialize;

use crate::sessions::{Later, Seq};

/// How long a lease holds that is not renewed.
pub const LEASE: Duration = Duration::from_secs(30);

/// Keeps leases. An owner has none of its own: a lease is its conversation's, and is seen with it.
pub trait LeaseStore: Send + Sync {
    /// Takes the lease of a conversation: until it ends nobody else, in whichever process, adds
    /// to it. [`StoreError::Leased`](crate::StoreError::Leased) says who has it. It ends with [`LeaseStore::release`],
    /// [`LEASE`] after it was last renewed, and with the death of its process.
    fn claim<'a>(&'a self, session: &'a SessionId, purpose: &'a str) -> Later<'a, Lease>;

    /// Makes the lease last for [`LEASE`] from now.
    fn renew<'a>(&'a self, lease: &'a Lease) -> Later<'a, ()>;

    /// Gives the lease back. Never waits: it takes effect before whatever this store writes
    /// afterwards.
    fn release(&self, lease: &Lease);

    /// Who has the lease of a conversation, if anybody.
    fn holder<'a>(&'a self, session: &'a SessionId) -> Later<'a, Option<Holder>>;
}

/// The right to add to a conversation, for one at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The conversation.
    pub session: SessionId,
    /// Tells this lease from every other.
    pub token: String,
    /// The last row when it was taken.
    pub last: Option<Seq>,
    /// How many messages were replayed then; fewer when some were taken back.
    pub messages: u64,
}

/// What becomes of calls that wait for a person when a turn that was cut off is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitingCalls {
    /// They get a result like all others: they were not run.
    Close,
    /// Those of the last reply stay open: they have not begun, and their questions are kept.
    Keep,
}

/// Who has a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// For what: `a turn`, `a resume`, …
    pub purpose: String,
    /// The process.
    pub pid: u32,
    /// The machine, when it is another one.
    pub host: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub since_ms: i64,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in process {}", self.purpose, self.pid)?;
        match &self.host {
            Some(host) => write!(f, " on `{host}`"),
            None => Ok(()),
        }
    }
}
