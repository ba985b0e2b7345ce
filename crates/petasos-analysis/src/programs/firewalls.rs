//! Firewalls.

use crate::program::{Program, act};
use crate::rule::Signal::FirewallChange;

pub(super) static PROGRAMS: &[Program] = &[
    act(
        FirewallChange,
        "iptables ip6tables iptables-legacy iptables-nft ebtables arptables",
        "-F|--flush|-X|--delete-chain|-D|--delete|-Z|-P|--policy",
    ),
    act(FirewallChange, "nft", "..flush|delete|destroy|reset; -f|--file"),
    act(FirewallChange, "ufw", "..disable|reset|delete; default ..allow"),
    act(
        FirewallChange,
        "firewall-cmd",
        "--remove*|--delete*|--set-default-zone*|--panic*|--complete-reload*",
    ),
    act(FirewallChange, "pfctl", "-d|-F|-f"),
    act(FirewallChange, "netsh", "..advfirewall|firewall ..off|reset|delete|disable"),
    act(FirewallChange, "iptables-restore ip6tables-restore set-netfirewallprofile", ""),
    act(FirewallChange, "ipset", "..flush|destroy; -F|-X"),
    act(FirewallChange, "shorewall csf", "..stop|clear; -x|-f"),
    act(FirewallChange, "ipfw", "..flush|delete|disable"),
    act(FirewallChange, "socketfilterfw", "..off"),
];
