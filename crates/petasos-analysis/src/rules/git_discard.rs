//! Throws away uncommitted work or stashes.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "git discard of work",
    aliases: &["git reset --hard", "git clean -f"],
    description: "throws away uncommitted work or stashes",
    checks: &[Check::Signal(Signal::GitDiscard)],
    examples: include_str!("git_discard.txt"),
    ..Rule::ASK
};
