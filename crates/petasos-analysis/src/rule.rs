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
    /// For flags of sudo, if the function agrees.
    Sudo(fn(&Call<'_>) -> bool),
}

/// What a rule is about, for whoever decides what may set it aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// Something that was looked at.
    Plain,
    /// Something could not be looked at: an answer says nothing about the next time.
    Blind,
    /// The agent's own settings, rules, hooks or credentials.
    OwnFiles,
    /// Keys, tokens and passwords reach the output.
    SecretRead,
    /// Sudo is fed a password, or asked for a shell.
    Sudo,
    /// The agent itself is stopped.
    SelfHarm,
}

impl Check {
    fn nature(&self) -> Nature {
        use Signal::{DecodedCode, HiddenName, KeyExport, Limit, Malformed};
        use Signal::{OpaqueCode, OwnPolicy, RemoteCode, SecretRead, SelfHarm, UnknownProgram};
        match self {
            Self::Signal(
                Limit | Malformed | HiddenName | UnknownProgram | RemoteCode | DecodedCode
                | OpaqueCode,
            ) => Nature::Blind,
            Self::Signal(OwnPolicy) | Self::Write(Target::Agent) => Nature::OwnFiles,
            Self::Signal(SecretRead | KeyExport) => Nature::SecretRead,
            Self::Signal(SelfHarm) => Nature::SelfHarm,
            Self::Sudo(_) => Nature::Sudo,
            _ => Nature::Plain,
        }
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Check")
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
    /// Commands that it speaks about (`+`) and says nothing about (`-`), one a line: its tests.
    pub(crate) examples: &'static str,
}

impl Rule {
    /// One that asks, without older keys.
    pub(crate) const ASK: Self = Self {
        key: "",
        aliases: &[],
        description: "",
        severity: Severity::Ask,
        checks: &[],
        examples: "",
    };

    /// Commands that it speaks about.
    pub fn matches(&self) -> impl Iterator<Item = &'static str> {
        self.examples.lines().filter_map(|line| line.strip_prefix("+ "))
    }

    /// Commands that it says nothing about.
    pub fn passes(&self) -> impl Iterator<Item = &'static str> {
        self.examples.lines().filter_map(|line| line.strip_prefix("- "))
    }

    /// What it is about.
    pub fn nature(&self) -> Nature {
        let mut natures = self.checks.iter().map(Check::nature);
        natures.find(|nature| *nature != Nature::Plain).unwrap_or(Nature::Plain)
    }
}

type CallCheck = fn(&Call<'_>) -> bool;

/// Every check with its rule.
fn checks() -> impl Iterator<Item = (&'static Rule, &'static Check)> {
    RULES.iter().flat_map(|rule| rule.checks.iter().map(|check| (*rule, check)))
}

static CALLS: LazyLock<Table<Vec<(&'static Rule, CallCheck)>>> = LazyLock::new(|| {
    let mut map: Table<Vec<(&'static Rule, CallCheck)>> = Table::default();
    for (rule, check) in checks() {
        let found = match check {
            Check::Call(programs, check) => Some((*programs, check)),
            Check::Sudo(check) => Some(("sudo doas", check)),
            _ => None,
        };
        if let Some((programs, check)) = found {
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

/// Rules that look at calls of `program`.
pub(crate) fn on_call(program: &str) -> &'static [(&'static Rule, CallCheck)] {
    CALLS.get(program).map(Vec::as_slice).unwrap_or_default()
}

/// Rules that speak about a touched path.
pub(crate) fn on_touch(touch: &Touch<'_>) -> impl Iterator<Item = &'static Rule> {
    let speaks = |check: &Check| match check {
        Check::Touch(check) => check(touch),
        Check::Write(target) => touch.deed == Deed::Write && touch.target == *target,
        Check::Call(..) | Check::Signal(_) | Check::Sudo(_) => false,
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
