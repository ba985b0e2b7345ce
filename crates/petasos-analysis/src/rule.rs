//! What a rule is: data and at most one small function. It looks at a command, at a path that is
//! touched, or at something the analysis noticed. The rules themselves are one file each.

use crate::flow::call::Call;
use crate::flow::report::{Deed, Touch};
use crate::path::{Target, matches_glob};
use crate::rules::RULES;
use crate::table::Table;
use crate::verdict::Severity;
use crate::words::lists;
use crate::{program, wrapper};
use std::sync::LazyLock;

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
    KeyExport,
    ClusterDelete,
    PackageRemove,
    FirewallChange,
    SnapshotDelete,
    Power,
    SecurityOff,
    KeyImplant,
    AccountChange,
    SelfHarm,
    Emptied,
    CronChange,
    DiskFormat,
    GitDiscard,
    GitHistory,
    GitRemote,
    MountChange,
    CloudDelete,
    ContainerEnd,
    ServiceStop,
    Publish,
    OwnPolicy,
}

/// When a rule speaks.
pub(crate) enum Check {
    /// For calls of these programs, if the function agrees.
    Call(&'static str, fn(&Call<'_>) -> bool),
    /// For a touched path, if the function agrees.
    Touch(fn(&Touch<'_>) -> bool),
    Signal(Signal),
    /// For a path that is written and means this.
    Write(Target),
}

impl std::fmt::Debug for Check {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Call(..) => "Call",
            Self::Touch(_) => "Touch",
            Self::Signal(_) => "Signal",
            Self::Write(_) => "Write",
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

type CallCheck = fn(&Call<'_>) -> bool;

/// Every check with its rule.
fn checks() -> impl Iterator<Item = (&'static Rule, &'static Check)> {
    RULES.iter().flat_map(|rule| rule.checks.iter().map(|check| (*rule, check)))
}

static CALLS: LazyLock<Table<Vec<(&'static Rule, CallCheck)>>> = LazyLock::new(|| {
    let mut map: Table<Vec<(&'static Rule, CallCheck)>> = Table::default();
    for (rule, check) in checks() {
        if let Check::Call(programs, check) = check {
            for program in programs.split_ascii_whitespace() {
                map.entry(program).or_default().push((rule, *check));
            }
        }
    }
    map
});

static TOUCHES: LazyLock<Vec<(&'static Rule, &'static Check)>> = LazyLock::new(|| {
    checks().filter(|(_, check)| matches!(check, Check::Touch(_) | Check::Write(_))).collect()
});

static SIGNALS: LazyLock<Vec<(Signal, &'static Rule)>> = LazyLock::new(|| {
    let signalled = checks().filter_map(|(rule, check)| match check {
        Check::Signal(signal) => Some((*signal, rule)),
        _ => None,
    });
    signalled.collect()
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
    ["write to agent settings", "change to agent policy"].contains(&key)
}

/// Rules that look at calls of `program`.
pub(crate) fn on_call(program: &str) -> &'static [(&'static Rule, CallCheck)] {
    CALLS.get(program).map(Vec::as_slice).unwrap_or_default()
}

/// Rules that speak about a touched path.
pub(crate) fn on_touch(touch: &Touch<'_>) -> impl Iterator<Item = &'static Rule> {
    let speaks = |check: &Check| match check {
        Check::Touch(check) => check(touch),
        Check::Write(target) => touch.deed == Deed::Write && touch.target == *target,
        Check::Call(..) | Check::Signal(_) => false,
    };
    TOUCHES.iter().filter(move |(_, check)| speaks(check)).map(|(rule, _)| *rule)
}

/// The rule for something noticed.
pub(crate) fn on_signal(signal: Signal) -> Option<&'static Rule> {
    SIGNALS.iter().find(|(known, _)| *known == signal).map(|(_, rule)| *rule)
}

/// Whether any rule looks at `program`, or it is one that deletes or writes.
pub(crate) fn knows(program: &str) -> bool {
    CALLS.contains_key(program)
        || program::knows(program)
        || lists("rm cp mv tee ln install truncate shred unlink", program)
}

/// Programs that a pattern in a command name may stand for.
pub(crate) fn matching(pattern: &str) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = CALLS
        .keys()
        .copied()
        .chain(["rm", "cp", "mv", "tee"])
        .chain(wrapper::names())
        .chain(program::names())
        .filter(|name| matches_glob(pattern, name))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.sort_by_key(|name| !lists("rm sh bash dd cat", name));
    names.truncate(12);
    names
}

/// Whether a pattern for names fits every name.
pub(crate) fn matches_everything(pattern: &str) -> bool {
    matches!(pattern, "." | ".*" | "^" | "" | ".+" | "[a-z]*" | "*")
}
