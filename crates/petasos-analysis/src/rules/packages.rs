//! Removes packages of the system.

use super::{Check, Rule};
use crate::flow::call::Call;
use crate::verdict::Severity;

/// Removes packages of the system.
pub(super) static RULE: Rule = Rule {
    key: "system package removal",
    aliases: &[],
    description: "removes packages of the system",
    severity: Severity::Ask,
    checks: &[Check::Call(
        &[
            "apt",
            "apt-get",
            "aptitude",
            "dpkg",
            "yum",
            "dnf",
            "rpm",
            "pacman",
            "zypper",
            "apk",
            "brew",
            "snap",
            "flatpak",
            "emerge",
            "port",
            "pkg",
            "nix-env",
            "nix-collect-garbage",
            "winget",
            "choco",
            "scoop",
            "pkgutil",
            "xbps-remove",
            "tdnf",
            "microdnf",
            "yay",
            "paru",
            "guix",
            "rpm-ostree",
            "opkg",
            "pkg_delete",
            "swupd",
            "eopkg",
            "do-release-upgrade",
        ],
        check,
    )],
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

fn check(call: &Call<'_>) -> bool {
    if call.long("--dry-run")
        || call.long("--simulate")
        || call.flag_word("-s") && call.program.starts_with("apt")
    {
        return false;
    }
    let first = call.operand(0);
    match call.program {
        "dpkg" => call.args.iter().any(|arg| {
            matches!(arg.text.as_str(), "-r" | "-P" | "--remove" | "--purge" | "--force-all")
        }),
        "rpm" => call.args.iter().any(|arg| arg.text.starts_with("-e") || arg.is("--erase")),
        "pacman" | "yay" | "paru" => {
            call.args.iter().any(|arg| arg.text.starts_with("-R") || arg.is("--remove"))
        }
        "emerge" => {
            call.flag_word("-C")
                || call.flag_word("--unmerge")
                || call.flag_word("--depclean")
                || call.flag_word("-c")
        }
        "nix-env" => call.flag_word("-e") || call.flag_word("--uninstall"),
        "nix-collect-garbage" => call.flag('d'),
        "xbps-remove" | "pkg_delete" => true,
        "pkgutil" => call.flag_word("--forget"),
        "do-release-upgrade" => true,
        _ => matches!(
            first,
            "remove"
                | "purge"
                | "autoremove"
                | "erase"
                | "uninstall"
                | "del"
                | "rm"
                | "delete"
                | "autopurge"
                | "dist-upgrade"
                | "full-upgrade"
                | "distro-sync"
                | "bundle-remove"
                | "downgrade"
                | "zap"
        ),
    }
}
