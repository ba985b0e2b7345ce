//! How a gateway is, as people and scripts are told.

use std::collections::HashMap;

use serde::Serialize;

use crate::account::AccountState;

/// How the gateway is.
#[derive(Debug, Clone, Serialize)]
pub struct GatewayStatus {
    /// The program's version.
    pub version: &'static str,
    /// The process.
    pub pid: u32,
    /// Since when, in milliseconds since 1970.
    pub since_ms: i64,
    /// Whether it takes no new work.
    pub draining: bool,
    /// Why nothing runs, when everything was stopped.
    pub stopped: Option<String>,
    /// Its accounts.
    pub accounts: Vec<AccountStatus>,
    /// Messages that came in, by state.
    pub inbox: HashMap<&'static str, u64>,
    /// Messages that go out, by state.
    pub outbox: HashMap<&'static str, u64>,
    /// Sessions whose turns run or wait.
    pub working: usize,
    /// What happened since the start.
    pub counts: HashMap<&'static str, u64>,
}

/// How an account is.
#[derive(Debug, Clone, Serialize)]
pub struct AccountStatus {
    /// The platform.
    pub platform: String,
    /// The account.
    pub account: String,
    /// How it is.
    #[serde(flatten)]
    pub state: AccountState,
    /// Since when, in milliseconds since 1970.
    pub since_ms: i64,
    /// How often it was connected anew.
    pub reconnects: u64,
    /// Something the operator should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl GatewayStatus {
    /// Whether something needs a person.
    pub fn is_degraded(&self) -> bool {
        let troubled = |account: &AccountStatus| {
            !matches!(account.state, AccountState::Connected | AccountState::Paused)
        };
        self.stopped.is_some() || self.accounts.iter().any(troubled)
    }
}
