//! Throws away uncommitted work or stashes.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "git discard of work",
    aliases: &["git reset --hard", "git clean -f"],
    description: "throws away uncommitted work or stashes",
    checks: &[Check::Signal(Signal::GitDiscard)],
    matches: &[
        "git reset --hard",
        "git clean -fdx",
        "git checkout -- .",
        "git restore .",
        "git stash drop",
        "git reset --ha HEAD~1",
        "git -C ../r reset --hard",
        "git checkout -f main",
        "git rm -rf src",
        "git -c clean.requireForce=false clean -d",
    ],
    passes: &[
        "git clean -n",
        "git restore --staged .",
        "git reset --soft HEAD~1",
        "git stash pop",
        "git checkout -b x",
        "git status",
        "git checkout main",
    ],
    ..Rule::ASK
};
