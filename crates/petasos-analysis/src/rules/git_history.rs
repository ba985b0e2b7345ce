//! Rewrites or deletes history, branches or tags.

use crate::flow::call::Call;
use crate::flow::report::{Deed, Touch};
use crate::git_words::Git;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "git history rewrite",
    aliases: &["git branch force delete"],
    description: "rewrites or deletes history, branches or tags",
    severity: Severity::Ask,
    checks: &[
        Check::Touch(internals),
        Check::Call("git hub git-filter-repo bfg git-filter-branch", check),
    ],
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
};

fn check(call: &Call<'_>) -> bool {
    if call.program == "git-filter-repo"
        || call.program == "bfg"
        || call.program == "git-filter-branch"
    {
        return !call.args.is_empty();
    }
    let git = Git::of(call);
    match git.verb {
        "filter-repo" => !git.exact("--analyze") && !git.exact("--dry-run"),
        "filter-branch" | "replace" => true,
        "branch" => {
            let force = git.flag('f') || git.long("--force");
            git.flag('D')
                || (git.flag('d') || git.long("--delete")) && force
                || git.flag('M')
                || git.flag('f')
                || git.exact("--force")
        }
        "tag" => git.flag('d') || git.long("--delete") || git.flag('f') || git.exact("--force"),
        "reflog" => {
            matches!(git.operand(0), "expire" | "delete")
                && !git.long("--dry-run")
                && !git.flag('n')
        }
        "update-ref" => git.flag('d') || git.exact("--stdin") || git.operands().count() > 1,
        "symbolic-ref" => git.flag('d') || git.long("--delete"),
        "gc" => {
            git.args().any(|arg| arg.text.starts_with("--prune="))
                || git.long("--aggressive") && git.exact("--prune")
        }
        "prune" => !git.flag('n') && !git.long("--dry-run"),
        "rebase" => {
            !(git.exact("--abort")
                || git.exact("--continue")
                || git.exact("--skip")
                || git.exact("--quit")
                || git.exact("--show-current-patch"))
                && (git.flag('i')
                    || git.exact("--interactive")
                    || git.exact("--root")
                    || git.exact("--onto"))
        }
        "commit" => git.exact("--amend"),
        "notes" => git.operand(0) == "prune",
        _ => false,
    }
}

/// Files in which git keeps branches, commits and what is staged.
fn internals(touch: &Touch<'_>) -> bool {
    if !matches!(touch.deed, Deed::Write | Deed::Delete { .. }) {
        return false;
    }
    let Some((head, rest)) = touch.path.rsplit_once(".git/") else { return false };
    (head.is_empty() || head.ends_with('/'))
        && !rest.ends_with(".lock")
        && ["refs", "objects", "HEAD", "packed-refs", "index", "logs", "ORIG_HEAD"].iter().any(
            |part| {
                rest.strip_prefix(part).is_some_and(|tail| tail.is_empty() || tail.starts_with('/'))
            },
        )
}
