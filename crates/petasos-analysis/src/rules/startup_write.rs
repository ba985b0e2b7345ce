//! Writes a file that every new shell runs.

use crate::flow::report::{Deed, Touch};
use crate::path::Target;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "write to a shell start-up file",
    aliases: &[],
    description: "writes a file that every new shell runs",
    severity: Severity::Ask,
    checks: &[Check::Touch(check)],
    matches: &[
        "echo 'export A=1' >> ~/.bashrc",
        "sed -i 's/a/b/' ~/.zshrc",
        "cp /tmp/e ~/.profile",
        ": > ~/.bash_profile",
    ],
    passes: &["cat ~/.bashrc", "source ~/.bashrc", "grep alias ~/.zshrc"],
};

fn check(touch: &Touch<'_>) -> bool {
    touch.deed == Deed::Write && touch.target == Target::Startup
}
