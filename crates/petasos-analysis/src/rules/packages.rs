//! Removes packages of the system.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "system package removal",
    description: "removes packages of the system",
    checks: &[Check::Signal(Signal::PackageRemove)],
    examples: include_str!("packages.txt"),
    ..Rule::ASK
};
