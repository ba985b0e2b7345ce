//! What the snapshot says about approval, read once per snapshot into one value.
//!
//! Nothing here looks at the process: the mode, the lists, the backend and the role variables all
//! come from [`Settings`]. A value that cannot be understood is an error, never a guess.

mod backend;

use std::path::PathBuf;
use std::time::Duration;

use petasos_contract::Settings;
use serde_json::Value;

pub use backend::Backend;

use crate::permissions::{Glob, Permissions, PermissionsError};
use crate::scan::Wish;

const TIMEOUT: Duration = Duration::from_mins(1);

/// Who judges what the rules flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A person.
    Manual,
    /// A reviewing model first, then a person.
    Smart,
    /// Nobody; what is never runnable stays so.
    Off,
}

/// What an answering rule says where nobody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// No.
    Deny,
    /// Yes.
    Approve,
}

/// Something that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// It happens.
    On,
    /// It does not.
    Off,
}

/// What strangers' words in a conversation lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strangers {
    /// A person is asked before deeds that outlast or leave it.
    Gates,
    /// It is told, and nobody is asked.
    Warnings,
    /// Nothing.
    Nothing,
}

/// A setting that must not be guessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApprovalSettingsError {
    /// A value that is not one of the known ones.
    #[error("`{key}` is `{value}`; use one of {known}")]
    Unknown {
        /// The key.
        key: &'static str,
        /// What it holds.
        value: String,
        /// What it may hold.
        known: &'static str,
    },
    /// A value of the wrong kind.
    #[error("`{key}` must be {expected}")]
    Kind {
        /// The key.
        key: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A rule that cannot be used.
    #[error(transparent)]
    Rules(#[from] PermissionsError),
}

/// Everything the policy takes from a snapshot.
#[derive(Debug)]
pub struct Approvals {
    /// Who judges.
    pub mode: Mode,
    /// How long a question at the terminal stays open.
    pub timeout: Duration,
    /// What becomes of a flagged call in a scheduled run.
    pub cron: Absent,
    /// What becomes of one where nobody can be asked.
    pub headless: Absent,
    /// What becomes of one that a subagent makes.
    pub subagents: Absent,
    /// Commands that are never run.
    pub deny: Vec<Glob>,
    /// Keys and command texts that need no question.
    pub allowlist: Vec<String>,
    /// Whether a plain `git push` is asked about.
    pub asks_push: Switch,
    /// Whether sudo has a password from the user.
    pub sudo_password: bool,
    /// Whether this process is the gateway.
    pub in_gateway: bool,
    /// Where commands run.
    pub backend: Backend,
    /// The only directories that may be written to; empty when all may.
    pub safe_roots: Vec<PathBuf>,
    /// The user's and the project's own rules.
    pub permissions: Permissions,
    /// What is wanted of somebody else's scanner, where it is on.
    pub scan: Option<Wish>,
    /// Whether words of strangers raise the gate for what outlasts or leaves a conversation.
    pub taint: Strangers,
    /// What may be spent without a question.
    pub spending: Spending,
}

/// What may be spent without a question, in cents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spending {
    /// By one call.
    pub ask_above: u32,
    /// By one conversation.
    pub session_max: u32,
    /// By a run that nobody watches.
    pub unattended_max: u32,
}

impl Spending {
    fn read(settings: &Settings) -> Self {
        let cents = |key: &str, usual: u32| {
            let set = settings.get(key).and_then(Value::as_u64);
            set.map_or(usual, |cents| u32::try_from(cents).unwrap_or(u32::MAX))
        };
        Self {
            ask_above: cents("spend.ask_above_cents", 20),
            session_max: cents("spend.session_max_cents", 200),
            unattended_max: cents("spend.unattended_max_cents", 50),
        }
    }
}

impl Approvals {
    /// Reads a snapshot.
    pub fn read(settings: &Settings) -> Result<Self, ApprovalSettingsError> {
        let absent = |key, approves: &[&str]| absent(settings, key, approves);
        Ok(Self {
            mode: mode(settings)?,
            timeout: seconds(settings, "approvals.timeout", TIMEOUT)?,
            cron: absent("approvals.cron_mode", &["approve", "off", "allow", "yes"])?,
            headless: absent("approvals.headless_mode", &["approve"])?,
            subagents: match settings.get("delegation.subagent_auto_approve") {
                Some(Value::Bool(true)) => Absent::Approve,
                _ => Absent::Deny,
            },
            deny: names(settings, "approvals.deny")?
                .iter()
                .map(|text| Glob::ignoring_case(text))
                .collect(),
            allowlist: names(settings, "command_allowlist")?,
            asks_push: match settings.text("approvals.git_push") {
                None | Some("allow") => Switch::Off,
                Some("ask") => Switch::On,
                Some(other) => return Err(unknown("approvals.git_push", other, "allow, ask")),
            },
            sudo_password: settings.variable("SUDO_PASSWORD").is_some(),
            in_gateway: settings
                .variable("_HERMES_GATEWAY")
                .is_some_and(|found| truthy(found.value.expose())),
            backend: Backend::read(settings),
            safe_roots: safe_roots(settings),
            permissions: Permissions::read(settings)?,
            scan: Wish::read(settings)?,
            taint: match settings.text("security.taint") {
                None | Some("on") => Strangers::Gates,
                Some("warn") => Strangers::Warnings,
                Some("off") => Strangers::Nothing,
                Some(other) => return Err(unknown("security.taint", other, "on, warn, off")),
            },
            spending: Spending::read(settings),
        })
    }

    /// Without anything that spares a question.
    #[must_use]
    pub(crate) fn tightened(mut self) -> Self {
        self.mode = Mode::Manual;
        self.taint = Strangers::Gates;
        (self.cron, self.headless, self.subagents) = (Absent::Deny, Absent::Deny, Absent::Deny);
        self.allowlist.clear();
        self.permissions.forget_allowed();
        self
    }
}

/// Whether a switch variable is on.
fn truthy(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

fn unknown(key: &'static str, value: &str, known: &'static str) -> ApprovalSettingsError {
    ApprovalSettingsError::Unknown { key, value: value.to_owned(), known }
}

fn mode(settings: &Settings) -> Result<Mode, ApprovalSettingsError> {
    // Read once at the start, so that nothing that runs can switch it.
    if settings.role("YOLO_MODE").is_some_and(|found| truthy(found.value.expose())) {
        return Ok(Mode::Off);
    }
    match settings.get("approvals.mode") {
        None | Some(Value::Null) => Ok(Mode::Manual),
        // YAML 1.1 reads a bare `off` as false.
        Some(Value::Bool(false)) => Ok(Mode::Off),
        Some(Value::String(text)) => match text.as_str() {
            "manual" => Ok(Mode::Manual),
            "smart" => Ok(Mode::Smart),
            "off" => Ok(Mode::Off),
            other => Err(unknown("approvals.mode", other, "manual, smart, off")),
        },
        Some(other) => Err(unknown("approvals.mode", &other.to_string(), "manual, smart, off")),
    }
}

fn absent(
    settings: &Settings,
    key: &'static str,
    approves: &[&str],
) -> Result<Absent, ApprovalSettingsError> {
    let text = match settings.get(key) {
        None | Some(Value::Null) => return Ok(Absent::Deny),
        Some(Value::String(text)) => text.as_str(),
        // YAML 1.1 reads a bare `off` as false and `yes` as true; both mean approve here.
        Some(Value::Bool(false)) => "off",
        Some(Value::Bool(true)) => "yes",
        Some(_) => {
            return Err(ApprovalSettingsError::Kind { key, expected: "`deny` or `approve`" });
        }
    };
    if approves.contains(&text) {
        Ok(Absent::Approve)
    } else if text == "deny" {
        Ok(Absent::Deny)
    } else {
        Err(unknown(key, text, "deny, approve"))
    }
}

/// A length of time; the default where there is none.
pub(crate) fn seconds(
    settings: &Settings,
    key: &'static str,
    default: Duration,
) -> Result<Duration, ApprovalSettingsError> {
    let Some(value) = settings.get(key).filter(|value| !value.is_null()) else {
        return Ok(default);
    };
    value
        .as_f64()
        .filter(|seconds| *seconds > 0.0)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or(ApprovalSettingsError::Kind { key, expected: "a number of seconds above zero" })
}

fn names(settings: &Settings, key: &'static str) -> Result<Vec<String>, ApprovalSettingsError> {
    match settings.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) if !items.iter().all(Value::is_string) => {
            Err(ApprovalSettingsError::Kind { key, expected: "a list of texts" })
        }
        Some(_) => settings
            .names(key)
            .ok_or(ApprovalSettingsError::Kind { key, expected: "a list of texts" }),
    }
}

fn safe_roots(settings: &Settings) -> Vec<PathBuf> {
    let Some(list) = settings.role("WRITE_SAFE_ROOT") else { return Vec::new() };
    std::env::split_paths(list.value.expose())
        .filter(|root| !root.as_os_str().is_empty())
        .map(|root| match root.strip_prefix("~") {
            Ok(tail) => settings.user_home().join(tail),
            Err(_) => root,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(values: &Value) -> Result<Approvals, ApprovalSettingsError> {
        Approvals::read(&Settings::from_values(values.as_object().unwrap().clone()))
    }

    #[test]
    fn defaults_ask_a_person_and_deny_where_there_is_none() {
        let found = read(&json!({})).unwrap();
        assert_eq!(found.mode, Mode::Manual);
        assert_eq!((found.cron, found.headless), (Absent::Deny, Absent::Deny));
        assert_eq!(found.timeout, TIMEOUT);
        assert_eq!(found.backend, Backend::Local);
    }

    #[test]
    fn yaml_booleans_mean_the_words_they_were_written_as() {
        let found = read(&json!({"approvals": {"mode": false, "cron_mode": true}})).unwrap();
        assert_eq!((found.mode, found.cron), (Mode::Off, Absent::Approve));
    }

    #[test]
    fn what_cannot_be_understood_is_refused() {
        for bad in [
            json!({"approvals": {"mode": "lenient"}}),
            json!({"approvals": {"mode": true}}),
            json!({"approvals": {"cron_mode": "maybe"}}),
            json!({"approvals": {"timeout": -1}}),
            json!({"approvals": {"deny": [1]}}),
            json!({"command_allowlist": {"a": 1}}),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
    }
}
