//! Firewalls.

use crate::program::{Program, program};
use crate::rule::Signal::FirewallChange;

pub(super) static PROGRAMS: &[Program] = &[
    program(
        "iptables ip6tables iptables-legacy iptables-nft ebtables arptables",
        "",
        &[(FirewallChange, "-F|--flush|-X|--delete-chain|-D|--delete|-Z|-P|--policy")],
    ),
    program("nft", "", &[(FirewallChange, "..flush|delete|destroy|reset; -f|--file")]),
    program("ufw", "", &[(FirewallChange, "..disable|reset|delete; default ..allow")]),
    program(
        "firewall-cmd",
        "",
        &[(FirewallChange, "--remove*|--delete*|--set-default-zone*|--panic*|--complete-reload*")],
    ),
    program("pfctl", "", &[(FirewallChange, "-d|-F|-f")]),
    program("netsh", "", &[(FirewallChange, "..advfirewall|firewall ..off|reset|delete|disable")]),
    program(
        "iptables-restore ip6tables-restore set-netfirewallprofile",
        "",
        &[(FirewallChange, "")],
    ),
    program("ipset", "", &[(FirewallChange, "..flush|destroy; -F|-X")]),
    program("shorewall csf", "", &[(FirewallChange, "..stop|clear; -x|-f")]),
    program("ipfw", "", &[(FirewallChange, "..flush|delete|disable")]),
    program("socketfilterfw", "", &[(FirewallChange, "..off")]),
];
