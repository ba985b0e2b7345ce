//! Overwrites or deletes refs of a remote.

use crate::flow::call::Call;
use crate::git_words::Git;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "git force push",
    aliases: &[],
    description: "overwrites or deletes refs of a remote",
    severity: Severity::Ask,
    checks: &[Check::Call("git hub gh glab jj", check)],
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
};

fn check(call: &Call<'_>) -> bool {
    if !matches!(call.program, "git" | "hub") {
        return false;
    }
    let git = Git::of(call);
    if git.long("--dry-run") || git.verb == "push" && git.flag('n') {
        return false;
    }
    match git.verb {
        // A ref of this repository is overwritten.
        "fetch" | "pull" => git.operands().any(|arg| {
            arg.text.starts_with('+')
                && arg.text.contains(':')
                && !arg.text.contains("refs/remotes/")
        }),
        "push" | "send-pack" => {
            git.flag('f')
                || git.flag('d')
                || git.args().any(|arg| {
                    arg.text.starts_with("--force")
                        || lists("--delete --mirror --prune --forc --del", &arg.text)
                })
                || git.operands().any(|arg| {
                    arg.text.starts_with('+') && arg.text.len() > 1
                        || arg.text.starts_with(':') && arg.text.len() > 1
                })
        }
        _ => false,
    }
}
