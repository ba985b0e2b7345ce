//! How a gateway is, as people and scripts are told.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use petasos_store::StoreError;
use serde::Serialize;

use crate::account::{Account, AccountState};
use crate::gateway::Shared;
use crate::render::add;

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
    /// Why nothing that comes in can be stored, while that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unstored: Option<String>,
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
    /// The same as lines that a collector of metrics reads.
    pub fn metrics(&self) -> String {
        let mut out = String::new();
        let mut family = |name: &str, kind: &str, rows: Vec<(String, u64)>| {
            add(&mut out, format_args!("# TYPE petasos_{name} {kind}\n"));
            for (labels, value) in rows {
                add(&mut out, format_args!("petasos_{name}{labels} {value}\n"));
            }
        };
        let by = |label: &str, counts: &HashMap<&'static str, u64>| {
            let mut rows: Vec<(String, u64)> = counts
                .iter()
                .map(|(name, value)| (format!("{{{label}=\"{name}\"}}"), *value))
                .collect();
            rows.sort();
            rows
        };
        family("inbox_messages", "gauge", by("state", &self.inbox));
        family("outbox_messages", "gauge", by("state", &self.outbox));
        family("gateway_events_total", "counter", by("event", &self.counts));
        family("gateway_sessions_working", "gauge", vec![(String::new(), self.working as u64)]);
        let account = |it: &AccountStatus, value| {
            let labels =
                format!("{{platform=\"{}\",account=\"{}\"}}", it.platform, quoted(&it.account));
            (labels, value)
        };
        let up = |it: &AccountStatus| account(it, u64::from(it.state == AccountState::Connected));
        family("account_connected", "gauge", self.accounts.iter().map(up).collect());
        let state = |it: &AccountStatus| {
            let (labels, one) = account(it, 1);
            let labels = labels.replace('}', &format!(",state=\"{}\"}}", it.state.as_str()));
            (labels, one)
        };
        family("account_state", "gauge", self.accounts.iter().map(state).collect());
        let again = |it: &AccountStatus| account(it, it.reconnects);
        family("account_reconnects_total", "counter", self.accounts.iter().map(again).collect());
        out
    }

    /// Whether something needs a person.
    pub fn is_degraded(&self) -> bool {
        let troubled = |account: &AccountStatus| {
            !matches!(account.state, AccountState::Connected | AccountState::Paused)
        };
        self.stopped.is_some() || self.unstored.is_some() || self.accounts.iter().any(troubled)
    }
}

/// The value of a label.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
}

/// Where it is kept that an account rests.
const RESTS: &str = "rests";

impl Shared {
    /// `/platform`: the accounts and how they are; one can rest, and go on.
    pub(crate) async fn platform(&self, words: &str) -> String {
        let (action, name) = words.trim().split_once(char::is_whitespace).unwrap_or((words, ""));
        let rests = match action.trim() {
            "" | "list" => return self.accounts_shown(),
            "pause" => true,
            "resume" => false,
            other => return format!("`{other}` is nothing to do: list, pause NAME, resume NAME."),
        };
        let name = name.trim();
        let named = |it: &&Arc<Account>| it.def.name == name || it.name() == name;
        let mut done = Vec::new();
        for account in self.accounts().iter().filter(named) {
            let (platform, own) = (account.def.name, account.platform.account());
            let mark = if rests { "yes" } else { "" };
            if let Err(error) = self.store.set_cursor(platform, own, RESTS, mark).await {
                return error.to_string();
            }
            account.set_rests(rests);
            done.push(account.name());
        }
        match (done.is_empty(), rests) {
            (true, _) => format!("There is no account `{name}`.\n\n{}", self.accounts_shown()),
            (false, true) => format!("{} rests until `/platform resume {name}`.", done.join(", ")),
            (false, false) => format!("{} goes on.", done.join(", ")),
        }
    }

    fn accounts_shown(&self) -> String {
        let line = |account: &Arc<Account>| {
            let (state, _, reconnects) = account.state();
            format!("- {}: {state:?}, connected anew {reconnects} times", account.name())
        };
        self.accounts().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Accounts that a person let rest do so after a restart, too.
    pub(crate) async fn keep_resting(&self) -> Result<(), StoreError> {
        for account in self.accounts().iter() {
            let (platform, own) = (account.def.name, account.platform.account());
            let mark = self.store.cursor(platform, own, RESTS).await?;
            account.set_rests(mark.is_some_and(|mark| !mark.is_empty()));
        }
        Ok(())
    }

    /// How the gateway is that runs since then.
    pub(crate) async fn status(&self, since_ms: i64) -> Result<GatewayStatus, StoreError> {
        let inbox = self.store.depths().await?;
        let outbox = self.store.delivery_depths().await?;
        let paired = self.store.paired(None).await?;
        let unstored = self.unstored.lock().clone();
        let known = self.accounts();
        let accounts = known.iter().map(|account| {
            let (state, since_ms, reconnects) = account.state();
            let (options, gateway) = (account.options(), self.options());
            let anybody = options.has_list()
                || gateway.allow_all
                || gateway.owner.is_some()
                || !gateway.allowed.is_empty()
                || account.def.unattended
                || paired.iter().any(|person| person.platform == account.def.name);
            let closed = (!anybody).then(|| {
                format!(
                    "nobody may write here: set {}_ALLOWED_USERS, or let people pair",
                    account.def.name.to_uppercase()
                )
            });
            let notice = unstored.clone().or(closed);
            AccountStatus {
                platform: account.def.name.to_owned(),
                account: account.platform.account().to_owned(),
                state,
                since_ms,
                reconnects,
                notice,
            }
        });
        let counters = &self.counters;
        let count = |name, counter: &AtomicU64| (name, counter.load(Ordering::Relaxed));
        Ok(GatewayStatus {
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            since_ms,
            draining: self.draining.load(Ordering::Acquire),
            stopped: self.host.stopped(),
            unstored: unstored.clone(),
            accounts: accounts.collect(),
            inbox: inbox.into_iter().map(|(state, count)| (state.as_str(), count)).collect(),
            outbox: outbox.into_iter().map(|(state, count)| (state.as_str(), count)).collect(),
            working: self.runners.count(),
            counts: HashMap::from([
                count("accepted", &counters.accepted),
                count("repeated", &counters.repeated),
                count("strangers", &counters.strangers),
                count("turns", &counters.turns),
                count("sent", &counters.sent),
                count("failed_sends", &counters.failed_sends),
            ]),
        })
    }
}
