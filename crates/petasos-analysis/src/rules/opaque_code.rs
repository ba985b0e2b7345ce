//! Runs text that cannot be read beforehand.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "opaque code execution",
    aliases: &["inline program"],
    description: "runs text that cannot be read beforehand",
    checks: &[Check::Signal(Signal::OpaqueCode), Check::Signal(Signal::UnknownProgram)],
    examples: include_str!("opaque_code.txt"),
    ..Rule::ASK
};
