//! Commands too deep or too laborious to judge are refused, never waved through.

use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "analysis limit",
    aliases: &[],
    description: "nested or multiplied beyond what can be judged",
    severity: Severity::Block,
    checks: &[Check::Signal(Signal::Limit)],
    examples: include_str!("limits.txt"),
};
