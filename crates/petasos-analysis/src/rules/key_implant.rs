//! Adds a trusted key, certificate or hook.

use crate::flow::call::Call;
use crate::git_words::Git;
use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "key or trust implant",
    aliases: &[],
    description: "adds a trusted key, certificate or hook",
    severity: Severity::Ask,
    checks: &[
        Check::Signal(Signal::Preload),
        Check::Call(
            "ssh-import-id ssh-import-id-gh update-ca-certificates trust security certutil \
                git loginctl systemctl update-alternatives ldconfig hash dpkg-divert xdg-mime \
                launchctl ssh-import-id-lp enable crontab update-rc.d chkconfig rc-update npm \
                pnpm yarn",
            check,
        ),
    ],
    matches: &[
        "ssh-import-id gh:eve",
        "git config --global core.hooksPath /tmp/h",
        "loginctl enable-linger bob",
        "security add-trusted-cert -d x.crt",
        "systemctl enable --now evil",
        "update-rc.d evil defaults",
        "LD_PRELOAD=/tmp/x.so ls",
        "npm config set strict-ssl false",
    ],
    passes: &[
        r#"git config user.name "CI Bot""#,
        "systemctl is-enabled x",
        "git config --list",
        "loginctl list-sessions",
        "LD_PRELOAD=/usr/lib/libjemalloc.so ./server",
        "npm config get registry",
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
                        let key = key.text.to_ascii_lowercase();
                        // Hooks that are part of the project are the usual case.
                        key.contains("hookspath") && git.operand(1).starts_with(['/', '~'])
                            || key.contains("sshcommand")
                    }))
        }
        "update-rc.d" | "chkconfig" | "rc-update" => {
            call.args.iter().any(|arg| lists("defaults enable on add --add", &arg.text))
        }
        "npm" | "pnpm" | "yarn" => {
            let (verb, key) = (call.operand(1), call.operand(2));
            first == "config"
                && verb == "set"
                && (key.contains("_auth")
                    || key.starts_with("strict-ssl")
                        && call.args.iter().any(|arg| arg.text.ends_with("false"))
                    || key.starts_with("script-shell"))
        }
        "loginctl" => first == "enable-linger",
        "systemctl" => first == "enable",
        "update-alternatives" => call.flag_word("--install") || call.flag_word("--set"),
        "hash" => call.flag_word("-p"),
        "enable" => call.flag_word("-f"),
        _ => false,
    }
}
