//! What was granted for good: the trait, a grant and its limits.
//!
//! A grant that was given in a chat belongs to that chat. One that belongs to nobody was given at
//! the machine itself, whose grants hold in every conversation of the home.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use petasos_contract::BoxFuture;
use petasos_contract::address::Address;
use serde::{Deserialize, Serialize};

use crate::scope::SessionScope;

/// Why a grant was not made, read or revoked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// The grants could not be read or written.
    #[error("{0}")]
    Failed(String),
    /// The file of grants is not one.
    #[error("`{}` cannot be read: {problem}; move it away to start afresh", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A grant that cannot be made.
    #[error("this cannot be granted: {0}")]
    Refused(String),
    /// Nothing has this name.
    #[error("nothing is granted under `{0}`; see `petasos approval list`")]
    Unknown(String),
    /// There is no home to keep it in.
    #[error(
        "there is no agent home to keep a lasting approval in; approve once or for the session"
    )]
    NoHome,
}

/// A result of the store, later.
pub type GrantFuture<'a, T> = BoxFuture<'a, Result<T, GrantError>>;

/// Keeps grants.
pub trait GrantStore: Send + Sync {
    /// All grants, of all owners, without waiting: for a policy that decides in microseconds and
    /// compares owners itself. What this store wrote is in it at once, what another process wrote
    /// at the next change that it hears of. The same value again means that nothing has changed.
    fn snapshot(&self) -> Arc<Vec<GrantRecord>>;

    /// The grants that are seen, expired ones too, the oldest first.
    fn granted<'a>(&'a self, scope: &'a SessionScope) -> GrantFuture<'a, Vec<GrantRecord>>;

    /// Makes a grant. One with the same owner and the same limits is given back as it is.
    fn grant(&self, what: NewGrant, owner: Option<Address>) -> GrantFuture<'_, GrantRecord>;

    /// Revokes a grant that is seen; says whether there was one.
    fn revoke<'a>(&'a self, id: &'a str, scope: &'a SessionScope) -> GrantFuture<'a, bool>;
}

/// What to grant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NewGrant {
    /// Only for findings with this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Only for this tool, or tools by a pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Commands that begin with these words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Whether the command has these words and no others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// The one command that a question was about, as it was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<String>,
    /// Files here and below; a pattern.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only in this directory and below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<PathBuf>,
    /// Until then, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
}

impl NewGrant {
    /// Whether it says something, and nothing that would allow everything; otherwise why not.
    pub fn check(&self) -> Result<(), &'static str> {
        let named = self.tool.is_some() || !self.command.is_empty();
        let limited = named || self.path.is_some() || self.leaf.is_some();
        match (limited, &self.key) {
            (false, None) => Err("it names no key, tool, command or path"),
            (false, Some(_)) if self.project.is_none() && self.expires.is_none() => {
                Err("a key without a limit belongs in `command_allowlist`")
            }
            _ => Ok(()),
        }
    }

    /// Whether it covers everything that a rule asks about.
    pub fn is_wide(&self) -> bool {
        self.tool.is_none()
            && self.command.is_empty()
            && self.leaf.is_none()
            && self.path.is_none()
            && self.project.is_none()
    }
}

impl fmt::Display for NewGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key.as_deref().unwrap_or("anything"))?;
        if let Some(tool) = &self.tool {
            write!(f, " by {tool}")?;
        }
        if !self.command.is_empty() {
            let more = if self.exact { "" } else { " …" };
            write!(f, ": `{}{more}`", self.command.join(" "))?;
        }
        if let Some(leaf) = &self.leaf {
            write!(f, ": exactly `{leaf}`")?;
        }
        if let Some(path) = &self.path {
            write!(f, ": only {path} and below")?;
        }
        match &self.project {
            Some(project) => write!(f, ", in {}", project.display()),
            None => f.write_str(", everywhere"),
        }
    }
}

/// A grant that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantRecord {
    /// Its name for revoking.
    pub id: String,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// The chat in which it was given; nothing for one that was given at the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Address>,
    /// What it grants.
    #[serde(flatten)]
    pub what: NewGrant,
}

impl GrantRecord {
    /// Whether its time is over.
    pub fn is_expired(&self, now: u64) -> bool {
        self.what.expires.is_some_and(|end| end <= now)
    }

    /// Whether it holds for calls of a conversation that is reached there.
    pub fn holds_at(&self, address: &Address) -> bool {
        let Some(owner) = &self.owner else { return true };
        SessionScope::of(Some(address)).sees(Some(owner))
    }
}

impl fmt::Display for GrantRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}", self.id, self.what)?;
        match &self.owner {
            Some(owner) => write!(f, ", in the chat {}:{}", owner.platform, owner.chat),
            None => Ok(()),
        }
    }
}
