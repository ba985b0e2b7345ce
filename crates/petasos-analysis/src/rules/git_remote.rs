//! Overwrites or deletes refs of a remote.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "git force push",
    description: "overwrites or deletes refs of a remote",
    checks: &[Check::Signal(Signal::GitRemote)],
    matches: &[
        "git push --force",
        "git push -f origin main",
        "git push --force-with-lease",
        "git push origin +main",
        "git push origin --delete x",
        "git push origin :old",
        "git push --mirror",
        "git send-pack --force o m",
    ],
    passes: &[
        "git push",
        "git push origin main",
        "git push --dry-run --force origin main",
        "git push -u origin HEAD",
        "git push --follow-tags",
        "git push --tags",
    ],
    ..Rule::ASK
};
