//! Leaves something behind that starts by itself.

use crate::path::Target;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "persistence",
    description: "leaves something behind that starts by itself",
    checks: &[Check::Write(Target::Persistence)],
    matches: &[
        "cp upd.service ~/.config/systemd/user/",
        "echo x > ~/.config/autostart/a.desktop",
        "cp a.plist ~/Library/LaunchAgents/",
        "cp hook .git/hooks/pre-commit",
    ],
    passes: &["ls ~/.config/systemd/user", "cat .git/hooks/pre-commit.sample"],
    ..Rule::ASK
};
