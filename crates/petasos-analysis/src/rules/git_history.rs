//! Rewrites or deletes history, branches or tags.

use crate::flow::report::{Deed, Touch};
use crate::rule::{Check, Rule, Signal};
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "git history rewrite",
    aliases: &["git branch force delete"],
    description: "rewrites or deletes history, branches or tags",
    checks: &[Check::Touch(internals), Check::Signal(Signal::GitHistory)],
    examples: include_str!("git_history.txt"),
    ..Rule::ASK
};

/// Files in which git keeps branches, commits and what is staged.
fn internals(touch: &Touch<'_>) -> bool {
    if !matches!(touch.deed, Deed::Write | Deed::Delete { .. }) {
        return false;
    }
    let Some((head, rest)) = touch.path.rsplit_once(".git/") else { return false };
    (head.is_empty() || head.ends_with('/'))
        && !rest.ends_with(".lock")
        && lists(
            "refs objects HEAD packed-refs index logs ORIG_HEAD",
            rest.split('/').next().unwrap_or_default(),
        )
}
