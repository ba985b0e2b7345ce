//! The decision log: what became of every call that was judged, each entry chained to the one
//! before, so that a change, a removal or an insertion is found.
//!
//! What a chain cannot show is a cut end: keep the head that [`DecisionLog::verify`] reports
//! elsewhere to see that, too.

use std::borrow::Cow;

use petasos_contract::BoxFuture;
use petasos_contract::address::Address;
use petasos_contract::approval::Scope;
use petasos_contract::context::Surface;
use serde::{Deserialize, Serialize};

use crate::scope::SessionScope;

/// Why the log could not be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DecisionLogError(pub String);

/// A result of the log, later.
pub type DecisionFuture<'a, T> = BoxFuture<'a, Result<T, DecisionLogError>>;

/// Keeps decisions.
pub trait DecisionLog: Send + Sync {
    /// Adds one. Number and predecessor are the log's own, whatever the entry says; gives the
    /// number. Processes that add at once get one chain.
    fn append(&self, entry: DecisionEntry) -> DecisionFuture<'_, u64>;

    /// The last decisions that are seen, the oldest first; entries that cannot be read are left
    /// out.
    fn read<'a>(
        &'a self,
        last: usize,
        scope: &'a SessionScope,
    ) -> DecisionFuture<'a, Vec<DecisionEntry>>;

    /// Checks every entry.
    fn verify(&self) -> DecisionFuture<'_, DecisionCheck>;
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionOutcome {
    /// It ran.
    Allowed,
    /// Somebody said no.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The question reached nobody.
    Undeliverable,
    /// The reviewing model could not be reached.
    ReviewerUnavailable,
    /// A rule that nobody can set aside.
    Blocked,
}

/// Something that spoke against a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionReason {
    /// The key.
    pub key: String,
    /// In words.
    pub why: String,
    /// Why it did not count, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waived: Option<String>,
}

/// One decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionEntry {
    /// Counts up from one.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// The conversation.
    pub session: String,
    /// The chat in which it is held; nothing when it belongs to whoever sits at the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Address>,
    /// Which call of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub call: String,
    /// How close strangers' words were, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heat: Option<String>,
    /// Where those came from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Where it lives.
    pub surface: Surface,
    /// Who made the call.
    pub principal: String,
    /// The directory it was made in.
    pub workspace: String,
    /// The tool.
    pub tool: String,
    /// What would have happened, redacted and shortened.
    pub subject: String,
    /// The hash of all of it.
    pub subject_hash: String,
    /// What the rules said.
    pub verdict: Cow<'static, str>,
    /// What became of it.
    pub outcome: DecisionOutcome,
    /// Who answered, if anybody was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How far an approval reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// What whoever answered added, or why nobody could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What spoke against it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<DecisionReason>,
    /// The commands that would run, redacted, the first few.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Vec<String>>,
    /// The hash of the entry before.
    pub prev: Option<String>,
}

/// What a check of the whole log found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DecisionCheck {
    /// Entries that hold.
    pub entries: u64,
    /// Lines that a killed writer left half, by number.
    pub torn: Vec<u64>,
    /// The hash of the last entry, to be kept elsewhere.
    pub head: Option<String>,
    /// The first entry that does not hold.
    pub broken: Option<BrokenEntry>,
}

/// An entry that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokenEntry {
    /// Its number, from one.
    pub line: u64,
    /// What is wrong with it.
    pub what: String,
}
