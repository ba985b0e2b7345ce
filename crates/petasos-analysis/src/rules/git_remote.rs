//! Overwrites or deletes refs of a remote.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "git force push",
    description: "overwrites or deletes refs of a remote",
    checks: &[Check::Signal(Signal::GitRemote)],
    examples: include_str!("git_remote.txt"),
    ..Rule::ASK
};
