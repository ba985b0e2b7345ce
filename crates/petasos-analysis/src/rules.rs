//! The rules: what is blocked and what is asked about, one file a category.
//!
//! A rule is data and at most one small function. It looks at a command, at a path
//! that is touched, or at something the analysis noticed.

mod accounts;
mod agent_control;
mod agent_self_harm;
mod agent_settings;
mod bulk_delete;
mod chown_root;
mod cloud_delete;
mod cluster_delete;
mod containers;
mod credential_write;
mod crontab;
mod decoded_code;
mod disk_format;
mod disk_write;
mod exfiltration;
mod firewall;
mod force_kill;
mod fork_bomb;
mod git_discard;
mod git_history;
mod git_remote;
mod git_words;
mod hidden_name;
mod key_implant;
mod kill_all;
mod limits;
mod malformed;
mod mounts;
mod opaque_code;
mod packages;
mod permission_sweep;
mod persistence;
mod power;
mod publish;
mod read_tool_program;
mod recursive_delete;
mod remote_code;
mod reverse_shell;
mod secret_read;
mod security_off;
mod sensitive_delete;
mod services;
mod setuid;
mod snapshot_delete;
mod sql;
mod startup_write;
mod sudo_flags;
mod system_delete;
mod system_write;
mod world_writable;

use crate::flow::call::Call;
use crate::flow::report::Touch;
use crate::path::matches_glob;
use crate::table::Table;
use crate::verdict::Severity;
use crate::wrappers;
use std::sync::LazyLock;

pub(crate) use kill_all::matches_everything;

/// Something the analysis notices that is no single command or path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Limit,
    Malformed,
    HiddenName,
    UnknownProgram,
    RemoteCode,
    DecodedCode,
    OpaqueCode,
    ReverseShell,
    Exfiltration,
    ForkBomb,
    DestructiveSql,
    KillAll,
    WorldWritable,
    ForceKill,
    RootOwner,
    SecretRead,
    Power,
    HistoryOff,
    Preload,
    CloudDelete,
    ContainerEnd,
    ServiceStop,
    Publish,
    OwnPolicy,
}

/// When a rule speaks.
pub(crate) enum Check {
    /// For calls of these programs, if the function agrees.
    Call(&'static [&'static str], fn(&Call<'_>) -> bool),
    /// For a touched path, if the function agrees.
    Touch(fn(&Touch<'_>) -> bool),
    Signal(Signal),
}

impl std::fmt::Debug for Check {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Call(..) => "Call",
            Self::Touch(_) => "Touch",
            Self::Signal(_) => "Signal",
        })
    }
}

/// One category of dangerous commands.
#[derive(Debug)]
pub struct Rule {
    /// Key that answers are remembered under.
    pub key: &'static str,
    /// Older keys of the same category.
    pub aliases: &'static [&'static str],
    /// What it is about, for a person.
    pub description: &'static str,
    /// What it asks for.
    pub severity: Severity,
    pub(crate) checks: &'static [Check],
    /// Commands the rule speaks about; checked by a test.
    pub matches: &'static [&'static str],
    /// Commands it says nothing about; checked by a test.
    pub passes: &'static [&'static str],
}

/// Every rule, by file name.
pub static RULES: &[&Rule] = &[
    &accounts::RULE,
    &agent_control::RULE,
    &agent_self_harm::RULE,
    &agent_settings::RULE,
    &bulk_delete::RULE,
    &chown_root::RULE,
    &cloud_delete::RULE,
    &cluster_delete::RULE,
    &containers::RULE,
    &credential_write::RULE,
    &crontab::RULE,
    &decoded_code::RULE,
    &disk_format::RULE,
    &disk_write::RULE,
    &exfiltration::RULE,
    &firewall::RULE,
    &force_kill::RULE,
    &fork_bomb::RULE,
    &git_discard::RULE,
    &git_history::RULE,
    &git_remote::RULE,
    &hidden_name::RULE,
    &key_implant::RULE,
    &kill_all::RULE,
    &limits::RULE,
    &malformed::RULE,
    &mounts::RULE,
    &opaque_code::RULE,
    &packages::RULE,
    &permission_sweep::RULE,
    &persistence::RULE,
    &power::RULE,
    &publish::RULE,
    &read_tool_program::RULE,
    &recursive_delete::RULE,
    &remote_code::RULE,
    &reverse_shell::RULE,
    &secret_read::RULE,
    &security_off::RULE,
    &sensitive_delete::RULE,
    &services::RULE,
    &setuid::RULE,
    &snapshot_delete::RULE,
    &sql::RULE,
    &startup_write::RULE,
    &sudo_flags::RULE,
    &system_delete::RULE,
    &system_write::RULE,
    &world_writable::RULE,
];

type CallCheck = fn(&Call<'_>) -> bool;
type TouchCheck = fn(&Touch<'_>) -> bool;
type OnCall = Vec<(&'static Rule, CallCheck)>;
type OnTouch = Vec<(&'static Rule, TouchCheck)>;

static CALLS: LazyLock<Table<OnCall>> = LazyLock::new(|| {
    let mut map: Table<OnCall> = Table::default();
    for rule in RULES {
        for check in rule.checks {
            if let Check::Call(programs, check) = check {
                for program in *programs {
                    map.entry(program).or_default().push((rule, *check));
                }
            }
        }
    }
    map
});

static TOUCHES: LazyLock<OnTouch> = LazyLock::new(|| {
    let all = RULES.iter().flat_map(|rule| rule.checks.iter().map(move |check| (*rule, check)));
    all.filter_map(|(rule, check)| match check {
        Check::Touch(check) => Some((rule, *check)),
        _ => None,
    })
    .collect()
});

static SIGNALS: LazyLock<Vec<(Signal, &'static Rule)>> = LazyLock::new(|| {
    let all = RULES.iter().flat_map(|rule| rule.checks.iter().map(move |check| (*rule, check)));
    all.filter_map(|(rule, check)| match check {
        Check::Signal(signal) => Some((*signal, rule)),
        _ => None,
    })
    .collect()
});

/// Whether a rule speaks because something could not be looked at: an answer says nothing about
/// the next time.
pub fn is_blind(key: &str) -> bool {
    const BLIND: [Signal; 7] = [
        Signal::Limit,
        Signal::Malformed,
        Signal::HiddenName,
        Signal::UnknownProgram,
        Signal::RemoteCode,
        Signal::DecodedCode,
        Signal::OpaqueCode,
    ];
    SIGNALS.iter().any(|(signal, rule)| rule.key == key && BLIND.contains(signal))
}

/// Whether a rule is about the agent's own settings, rules, hooks or credentials.
pub fn is_own_file(key: &str) -> bool {
    [agent_settings::RULE.key, agent_control::RULE.key].contains(&key)
}

/// Rules that look at calls of `program`.
pub(crate) fn on_call(program: &str) -> &'static [(&'static Rule, CallCheck)] {
    let family = || CALLS.get("mkfs").filter(|_| program.starts_with("mkfs."));
    let found = CALLS.get(program).or_else(family);
    found.map(Vec::as_slice).unwrap_or_default()
}

/// Rules that look at touched paths.
pub(crate) fn on_touch() -> &'static [(&'static Rule, TouchCheck)] {
    &TOUCHES
}

/// The rule for something noticed.
pub(crate) fn on_signal(signal: Signal) -> Option<&'static Rule> {
    SIGNALS.iter().find(|(known, _)| *known == signal).map(|(_, rule)| *rule)
}

/// Whether any rule looks at `program`, or it is one that deletes or writes.
pub(crate) fn knows(program: &str) -> bool {
    CALLS.contains_key(program)
        || matches!(
            program,
            "rm" | "cp" | "mv" | "tee" | "ln" | "install" | "truncate" | "shred" | "unlink"
        )
}

/// Programs that a pattern in a command name may stand for.
pub(crate) fn matching(pattern: &str) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = CALLS
        .keys()
        .copied()
        .chain(["rm", "cp", "mv", "tee"])
        .chain(wrappers::names())
        .filter(|name| matches_glob(pattern, name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.sort_by_key(|name| !matches!(*name, "rm" | "sh" | "bash" | "dd" | "cat"));
    names.truncate(12);
    names
}
