//! Deletes the root, a home or a system directory with everything in it.

use crate::flow::report::{Deed, Touch};
use crate::path;
use crate::rule::{Check, Rule};
use crate::shell::normalise::UNKNOWN;
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "recursive delete of a system directory",
    aliases: &[],
    description: "deletes the root, a home or a system directory with everything in it",
    severity: Severity::Block,
    checks: &[Check::Touch(check)],
    matches: &[
        "rm -rf /",
        "rm -rf ~",
        "sudo rm -fr /*",
        r#"rm -rf "$HOME"/"#,
        "rm -rf /etc/*",
        "find / -delete",
        "find /etc -type f -print0 | xargs -0 rm -f",
        "rm -rf /proc/self/root",
        "docker run --rm -v /:/host alpine rm -rf /host",
        "cd / && rm -rf *",
        r#"rm -r -f "/""#,
        "rm -rf /./..",
        "rm -rf /usr",
        "rm -rf ${HOME}/*",
        r#"python3 -c "import shutil; shutil.rmtree('/etc')""#,
        "mv /etc /tmp/gone",
        "rsync -a --delete empty/ /home/",
    ],
    passes: &[
        "rm -rf /tmp/x",
        "rm -rf /var/tmp/job",
        "rm -rf ~/old",
        "git commit -m 'rm -rf /'",
        "rm -rf ./usr",
        "ls /",
    ],
};

fn check(touch: &Touch<'_>) -> bool {
    let Deed::Delete { recursive, bulk, narrowed } = touch.deed else { return false };
    let swept = bulk && touch.path.strip_prefix('/').is_some_and(|rest| rest.chars().eq([UNKNOWN]));
    (recursive || bulk)
        && !narrowed
        && (path::is_vital(touch.path, touch.facts) || recursive && swept)
}
