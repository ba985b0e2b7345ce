//! Is not a complete shell command.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "malformed command",
    description: "is not a complete shell command",
    checks: &[Check::Signal(Signal::Malformed)],
    examples: include_str!("malformed.txt"),
    ..Rule::ASK
};
