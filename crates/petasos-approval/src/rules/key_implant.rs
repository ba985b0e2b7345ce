//! Adds a trusted key, certificate or hook.

use super::git_words::Git;
use super::{Check, Rule};
use crate::flow::call::Call;
use crate::verdict::Severity;

/// Adds a trusted key, certificate or hook.
pub(super) static RULE: Rule = Rule {
    key: "key or trust implant",
    aliases: &[],
    description: "adds a trusted key, certificate or hook",
    severity: Severity::Ask,
    checks: &[Check::Call(
        &[
            "ssh-import-id",
            "ssh-import-id-gh",
            "update-ca-certificates",
            "trust",
            "security",
            "certutil",
            "git",
            "loginctl",
            "systemctl",
            "update-alternatives",
            "ldconfig",
            "hash",
            "dpkg-divert",
            "xdg-mime",
            "launchctl",
            "ssh-import-id-lp",
            "enable",
            "crontab",
        ],
        check,
    )],
    matches: &[
        "ssh-import-id gh:eve",
        "git config --global core.hooksPath /tmp/h",
        "loginctl enable-linger bob",
        "security add-trusted-cert -d x.crt",
        "systemctl enable --now evil",
    ],
    passes: &[
        r#"git config user.name "CI Bot""#,
        "systemctl is-enabled x",
        "git config --list",
        "loginctl list-sessions",
    ],
};

fn check(call: &Call<'_>) -> bool {
    let first = call.operand(0);
    match call.program {
        "ssh-import-id"
        | "ssh-import-id-gh"
        | "ssh-import-id-lp"
        | "update-ca-certificates"
        | "dpkg-divert" => true,
        "trust" => first == "anchor",
        "security" => first.starts_with("add-trusted") || first == "import",
        "git" => {
            let git = Git::of(call);
            let keys = [
                "core.hookspath",
                "core.sshcommand",
                "core.fsmonitor",
                "credential.helper",
                "http.sslverify",
                "core.pager",
                "init.templatedir",
                "core.editor",
            ];
            let risky = git
                .operands()
                .next()
                .is_some_and(|key| keys.contains(&key.text.to_ascii_lowercase().as_str()));
            let writes = git.operands().count() > 1;
            git.verb == "config"
                && writes
                && risky
                && (git.exact("--global")
                    || git.exact("--system")
                    || git.operands().next().is_some_and(|key| {
                        key.text.to_ascii_lowercase().contains("hookspath")
                            || key.text.to_ascii_lowercase().contains("sshcommand")
                    }))
        }
        "loginctl" => first == "enable-linger",
        "systemctl" => first == "enable",
        "update-alternatives" => call.flag_word("--install") || call.flag_word("--set"),
        "hash" => call.flag_word("-p"),
        "enable" => call.flag_word("-f"),
        _ => false,
    }
}
