//! Removes packages of the system.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "system package removal",
    description: "removes packages of the system",
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
    ..Rule::ASK
};
