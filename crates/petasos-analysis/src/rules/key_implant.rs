//! Adds a trusted key, certificate or hook.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "key or trust implant",
    description: "adds a trusted key, certificate or hook",
    checks: &[Check::Signal(Signal::KeyImplant)],
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
    ..Rule::ASK
};
