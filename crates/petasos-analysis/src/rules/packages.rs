//! Removes packages of the system.

use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "system package removal",
    aliases: &[],
    description: "removes packages of the system",
    severity: Severity::Ask,
    checks: &[Check::Signal(Signal::PackageRemove)],
    matches: &[
        "apt-get remove -y nginx",
        "sudo apt purge python3",
        "dpkg -r x",
        "yum erase httpd",
        "pacman -Rns x",
        "brew uninstall jq",
        "apk del curl",
        "sudo apt autoremove --purge -y",
    ],
    passes: &[
        "apt list --installed",
        "sudo apt update",
        "brew install jq",
        "dpkg -l",
        "pacman -Q",
        "apt-get install -y curl",
        "rpm -qa",
    ],
};
