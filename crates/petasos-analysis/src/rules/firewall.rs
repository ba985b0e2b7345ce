//! Flushes or switches off a firewall.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "firewall change",
    description: "flushes or switches off a firewall",
    checks: &[Check::Signal(Signal::FirewallChange)],
    examples: include_str!("firewall.txt"),
    ..Rule::ASK
};
