//! What was used and what it cost, by conversation, role and endpoint.
//!
//! The sums of a process are in memory; `usage_log` holds what all processes of a home have used.

pub mod usage_log;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use petasos_contract::SessionId;
use petasos_contract::model::{Cost, Reply, Role, Served, Usage};
use serde::Serialize;

/// One line of the bill.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Line {
    /// For what.
    pub role: Option<Role>,
    /// By whom.
    pub served: Served,
    /// How much.
    pub usage: Usage,
    /// The known part of the cost, in dollars.
    pub usd: f64,
    /// Whether some of it was part of a subscription.
    pub has_included: bool,
    /// Whether the cost of some of it is unknown, so that the sum is only a part.
    pub has_unknown: bool,
}

/// The bill.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<BTreeMap<(SessionId, Role, String), Line>>);

impl Ledger {
    /// Writes a reply down.
    pub fn add(&self, session: &SessionId, role: Role, reply: &Reply) {
        let Served { provider, model, base_url, api_mode } = &reply.served;
        let key = format!("{provider}\0{model}\0{base_url}\0{api_mode}");
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.entry((session.clone(), role, key)).or_default();
        line.role = Some(role);
        line.served = reply.served.clone();
        line.usage = line.usage.plus(&reply.usage);
        match reply.cost {
            Cost::Actual { usd } | Cost::Estimated { usd } => line.usd += usd,
            Cost::Included => line.has_included = true,
            Cost::Unknown => line.has_unknown = true,
        }
    }

    /// The lines of a conversation, by role.
    pub fn lines(&self, session: &SessionId) -> Vec<Line> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = lines.iter().filter(|((known, ..), _)| known == session);
        own.map(|(_, line)| line.clone()).collect()
    }
}
