//! Mounts over, remounts or unmounts a file system.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "mount change",
    description: "mounts over, remounts or unmounts a file system",
    checks: &[Check::Signal(Signal::MountChange)],
    examples: include_str!("mounts.txt"),
    ..Rule::ASK
};
