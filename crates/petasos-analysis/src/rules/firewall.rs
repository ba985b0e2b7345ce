//! Flushes or switches off a firewall.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "firewall change",
    description: "flushes or switches off a firewall",
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
    ..Rule::ASK
};
