//! Flushes or switches off a firewall.

use super::{Check, Rule};
use crate::flow::call::Call;
use crate::verdict::Severity;

/// Flushes or switches off a firewall.
pub(super) static RULE: Rule = Rule {
    key: "firewall change",
    aliases: &[],
    description: "flushes or switches off a firewall",
    severity: Severity::Ask,
    checks: &[Check::Call(
        &[
            "iptables",
            "ip6tables",
            "iptables-legacy",
            "iptables-nft",
            "ebtables",
            "arptables",
            "nft",
            "ufw",
            "firewall-cmd",
            "pfctl",
            "netsh",
            "iptables-restore",
            "ip6tables-restore",
            "ipset",
            "shorewall",
            "csf",
            "set-netfirewallprofile",
            "ipfw",
            "socketfilterfw",
            "gufw",
            "fwconsole",
            "wg-quick",
            "tailscale",
        ],
        check,
    )],
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

fn check(call: &Call<'_>) -> bool {
    let any = |words: &[&str]| call.args.iter().any(|arg| words.contains(&arg.text.as_str()));
    match call.program {
        "nft" => {
            any(&["flush", "delete", "destroy", "reset"])
                || call.option(&["-f", "--file"]).is_some()
        }
        "ufw" => {
            any(&["disable", "reset", "delete"]) || call.operand(0) == "default" && any(&["allow"])
        }
        "firewall-cmd" => call.args.iter().any(|arg| {
            arg.text.starts_with("--remove")
                || arg.text.starts_with("--delete")
                || arg.text.starts_with("--set-default-zone")
                || arg.text.starts_with("--panic")
                || arg.text.starts_with("--complete-reload")
        }),
        "pfctl" => call.flag('d') || call.flag('F') || call.option(&["-f"]).is_some(),
        "netsh" => any(&["advfirewall", "firewall"]) && any(&["off", "reset", "delete", "disable"]),
        "iptables-restore" | "ip6tables-restore" => true,
        "ipset" => any(&["flush", "destroy", "-F", "-X"]),
        "shorewall" | "csf" => any(&["stop", "clear", "-x", "-f"]),
        "ipfw" => any(&["flush", "delete", "disable"]),
        "socketfilterfw" => any(&["off"]),
        "set-netfirewallprofile" => true,
        "gufw" | "fwconsole" | "wg-quick" | "tailscale" => false,
        _ => call.args.iter().any(|arg| {
            matches!(
                arg.text.as_str(),
                "-F" | "--flush"
                    | "-X"
                    | "--delete-chain"
                    | "-D"
                    | "--delete"
                    | "-Z"
                    | "-P"
                    | "--policy"
                    | "--fl"
                    | "--flus"
            )
        }),
    }
}
