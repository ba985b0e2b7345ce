//! Throws away uncommitted work or stashes.

use crate::flow::call::Call;
use crate::git_words::Git;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "git discard of work",
    aliases: &["git reset --hard", "git clean -f"],
    description: "throws away uncommitted work or stashes",
    severity: Severity::Ask,
    checks: &[Check::Call("git hub jj hg svn sl", check)],
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
};

fn check(call: &Call<'_>) -> bool {
    if matches!(call.program, "jj" | "sl") {
        return matches!(call.operand(0), "abandon" | "hide");
    }
    if call.program == "hg" {
        return call.operand(0) == "strip"
            || call.operand(0) == "purge"
            || call.operand(0) == "update" && (call.flag('C') || call.long("--clean"))
            || call.operand(0) == "revert" && (call.flag('a') || call.long("--all"));
    }
    if call.program == "svn" {
        return call.operand(0) == "revert" && (call.flag('R') || call.long("--recursive"))
            || call.operand(0) == "cleanup" && call.long("--remove-unversioned");
    }
    let git = Git::of(call);
    match git.verb {
        "reset" => git.long("--hard") || git.long("--merge") && git.exact("--merge"),
        "clean" => {
            let unforced = call.args.iter().any(|arg| {
                arg.text.eq_ignore_ascii_case("clean.requireforce=false")
                    || arg.text.eq_ignore_ascii_case("clean.requireforce=0")
            });
            (git.flag('f') || git.long("--force") || unforced)
                && !git.flag('n')
                && !git.long("--dry-run")
        }
        // From then on `git clean` needs no `-f`.
        "config" => {
            git.operand(0).eq_ignore_ascii_case("clean.requireforce")
                && matches!(git.operand(1), "false" | "0" | "no" | "off")
        }
        "checkout" => git.flag_checkout(),
        "switch" => {
            git.flag('f')
                || git.long("--force")
                || git.long("--discard-changes")
                || git.flag('C')
                || git.exact("--force-create")
        }
        "restore" => {
            !(git.long("--staged") || git.flag('S')) || git.long("--worktree") || git.flag('W')
        }
        "stash" => matches!(git.operand(0), "drop" | "clear"),
        "rm" => {
            !git.long("--cached")
                && !git.flag('n')
                && !git.long("--dry-run")
                && (git.flag('r') || git.flag('f') || git.long("--force"))
        }
        "worktree" => git.operand(0) == "remove" && (git.flag('f') || git.long("--force")),
        "submodule" => git.operand(0) == "deinit" && (git.flag('f') || git.long("--force")),
        "read-tree" => git.long("--reset") || git.flag('u'),
        "checkout-index" => git.flag('f') || git.long("--force"),
        "lfs" => git.operand(0) == "prune",
        "apply" => false,
        _ => false,
    }
}
