//! What requests to models used and cost, by conversation, task and model.
//!
//! An entry belongs to the conversation whose request it was, and is seen by whoever sees that one.

use petasos_contract::BoxFuture;
use petasos_contract::address::Address;
use petasos_contract::id::SessionId;
use petasos_contract::model::Role;
use petasos_contract::reply::{Cost, Usage};
use serde::Serialize;

use crate::scope::SessionScope;
use crate::sessions::Spent;

/// Why usage was not recorded or summed up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Records what was used.
pub trait UsageStore: Send + Sync {
    /// Adds what one request used.
    fn add<'a>(&'a self, entry: &'a UsageEntry) -> BoxFuture<'a, Result<(), UsageError>>;

    /// The sums by role, provider and model, in this order, over what is seen.
    fn totals<'a>(
        &'a self,
        filter: &'a UsageFilter,
    ) -> BoxFuture<'a, Result<UsageTotals, UsageError>>;
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageEntry {
    /// In which conversation.
    pub session: SessionId,
    /// Whose that is; nothing when it belongs to whoever sits at the machine.
    pub owner: Option<Address>,
    /// For what, by whom, how much.
    pub spent: Spent,
}

/// Which requests are summed up.
#[derive(Debug, Clone, Default)]
pub struct UsageFilter {
    /// Only those of conversations that are seen from here.
    pub scope: SessionScope,
    /// Only those of this conversation.
    pub session: Option<SessionId>,
}

/// What was used in all.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct UsageTotals {
    /// The sums.
    pub lines: Vec<UsageLine>,
    /// Entries that are there and cannot be read, so that the sums are only a part.
    pub unread: usize,
}

/// What was used for one role by one model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageLine {
    /// For what.
    pub role: Role,
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

impl UsageLine {
    /// A line with nothing on it yet.
    pub fn new(role: Role, provider: &str, model: &str) -> Self {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        Self { role, provider, model, usage: Usage::default(), usd: 0.0, has_unknown: false }
    }

    /// Adds a request.
    pub fn add(&mut self, usage: &Usage, cost: Cost) {
        self.usage = self.usage.plus(usage);
        match cost {
            Cost::Actual { usd } | Cost::Estimated { usd } => self.usd += usd,
            Cost::Included => {}
            Cost::Unknown => self.has_unknown = true,
        }
    }
}
