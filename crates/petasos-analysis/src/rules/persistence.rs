//! Leaves something behind that starts by itself.

use crate::flow::report::{Deed, Touch};
use crate::path::Target;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "persistence",
    aliases: &[],
    description: "leaves something behind that starts by itself",
    severity: Severity::Ask,
    checks: &[Check::Touch(check)],
    matches: &[
        "cp upd.service ~/.config/systemd/user/",
        "echo x > ~/.config/autostart/a.desktop",
        "cp a.plist ~/Library/LaunchAgents/",
        "cp hook .git/hooks/pre-commit",
    ],
    passes: &["ls ~/.config/systemd/user", "cat .git/hooks/pre-commit.sample"],
};

fn check(touch: &Touch<'_>) -> bool {
    touch.deed == Deed::Write && touch.target == Target::Persistence
}
