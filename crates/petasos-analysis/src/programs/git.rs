//! `git` and its relatives: what throws work away, rewrites history, overwrites a remote or
//! trusts a program.

use crate::program::{Program, act, verbal};
use crate::rule::Signal::{GitDiscard, GitHistory, GitRemote, KeyImplant};

/// Options in front of the verb that take the next word.
const VALUES: &str =
    "-c -C --git-dir --work-tree --namespace --exec-path --super-prefix --config-env";

pub(super) static PROGRAMS: &[Program] = &[
    verbal(
        GitDiscard,
        "git hub dolt",
        VALUES,
        "reset --hard|--merge; clean -f|--force !-n; \
         clean @clean.requireforce=false|clean.requireforce=0 !-n; \
         config clean.requireforce false|0|no|off; \
         checkout -f|--force|-B|--ours|--theirs|--pathspec-from-file; checkout --; \
         checkout #3 !-b|--orphan|--track|-t|--detach; \
         checkout ...|./|:/|[*]|:|.. !-b|--orphan|--track|-t|--detach; \
         checkout *.rs|*.py|*.js|*.ts|*.tsx|*.go|*.c|*.h|*.cpp|*.java|*.rb|*.php|*.sh|*.md|*.txt|\
         *.json|*.toml|*.yml|*.yaml|*.css|*.html|*.lock !-b|--orphan|--track|-t|--detach; annex drop --force; \
         switch -f|--force|--discard-changes|-C|--force-create; restore !-S|--staged; \
         restore -W|--worktree; stash drop|clear; rm -r|-f|--force !--cached !-n; \
         worktree remove -f|--force; submodule deinit -f|--force; read-tree --reset|-u; \
         checkout-index -f|--force; lfs prune",
    ),
    verbal(
        GitHistory,
        "git hub dolt",
        VALUES,
        "filter-repo !--analyze; filter-branch; replace; branch -D|-M|-f|--force; \
         tag -d|--delete|-f|--force; reflog expire|delete !-n; update-ref -d|--stdin; \
         update-ref #3; symbolic-ref -d|--delete; gc --prune=*; gc --aggressive --prune; \
         prune !-n; notes prune; commit --amend; \
         rebase -i|--interactive|--root|--onto !--abort|--continue|--skip|--quit|\
         --show-current-patch",
    ),
    act(GitHistory, "git-filter-repo bfg git-filter-branch", "@*"),
    verbal(
        GitRemote,
        "git hub dolt",
        VALUES,
        "push|send-pack -f|-d|--force*|--force|--delete|--mirror|--prune !-n; \
         push|send-pack ..+?*|:?* !-n; fetch|pull ..+*:* !..*refs/remotes/*; \
         fetch|pull ..*:* -f|--force !..*refs/remotes/*; config remote.*.push +*|:*; \
         config remote.*.mirror true",
    ),
    verbal(
        KeyImplant,
        "git hub dolt",
        VALUES,
        "config core.hookspath|core.sshcommand|core.fsmonitor|credential.helper|http.sslverify|\
         core.pager|init.templatedir|core.editor _ --global|--system; config core.hookspath /*|~*; \
         config core.sshcommand _; config url.*|http.proxy|gpg.program|core.gitproxy _ --global|--system; \
         clone|fetch|pull|push @http.sslverify=false",
    ),
    act(GitDiscard, "jj sl", "abandon|hide|restore; op|operation abandon|restore; undo _"),
    act(GitDiscard, "cvs", "update|up -C"),
    act(GitDiscard, "bzr brz p4 fossil got darcs", "revert|obliterate|uncommit|clean-tree"),
    act(GitRemote, "svn", "delete|rm|remove|del ..*://*"),
    act(
        GitDiscard,
        "hg",
        "strip|purge|rollback|histedit|prune|uncommit; update -C|--clean; revert -a|--all",
    ),
    act(GitDiscard, "svn", "revert -R|--recursive; cleanup --remove-unversioned"),
];
