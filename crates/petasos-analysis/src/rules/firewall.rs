//! Flushes or switches off a firewall.

use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "firewall change",
    aliases: &[],
    description: "flushes or switches off a firewall",
    severity: Severity::Ask,
    checks: &[Check::Signal(Signal::FirewallChange)],
    matches: &[
        "iptables -F",
        "nft flush ruleset",
        "ufw disable",
        "iptables -P INPUT ACCEPT",
        "pfctl -d",
        "firewall-cmd --remove-service=ssh",
        "ufw --force reset",
    ],
    passes: &[
        "iptables -L -n",
        "ufw status",
        "nft list ruleset",
        "firewall-cmd --list-all",
        "pfctl -s rules",
    ],
};
