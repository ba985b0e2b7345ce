//! Rewrites or deletes history, branches or tags.

use crate::flow::report::{Deed, Touch};
use crate::rule::{Check, Rule, Signal};
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "git history rewrite",
    aliases: &["git branch force delete"],
    description: "rewrites or deletes history, branches or tags",
    checks: &[Check::Touch(internals), Check::Signal(Signal::GitHistory)],
    matches: &[
        "git filter-branch --tree-filter true HEAD",
        "git branch -D old",
        "git branch --delete --force x",
        "git reflog expire --expire=now --all",
        "git update-ref -d refs/heads/main",
        "git tag -d v1",
        "git gc --prune=now",
        "bfg --delete-files x",
        "java -jar bfg-1.14.0.jar --strip-blobs-bigger-than 1M",
        "git rebase -i HEAD~3",
        "git commit --amend",
        "rm -f .git/refs/heads/main",
    ],
    passes: &[
        "git branch -d merged",
        "git log",
        "git filter-repo --analyze",
        "git tag v1.2.0",
        "git branch -a",
        "git gc",
        "rm -f .git/index.lock",
        "git pull --rebase origin main",
    ],
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
