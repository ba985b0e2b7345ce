//! Runs code straight from the network.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "remote code execution",
    aliases: &["pipe to shell", "download and execute"],
    description: "runs code straight from the network",
    checks: &[Check::Signal(Signal::RemoteCode)],
    examples: include_str!("remote_code.txt"),
    ..Rule::ASK
};
