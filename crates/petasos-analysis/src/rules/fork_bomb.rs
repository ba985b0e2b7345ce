//! Starts copies of itself without end.

use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "fork bomb",
    aliases: &[],
    description: "starts copies of itself without end",
    severity: Severity::Block,
    checks: &[Check::Signal(Signal::ForkBomb)],
    examples: include_str!("fork_bomb.txt"),
};
