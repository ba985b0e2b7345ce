//! Deletes files chosen by a search.

use crate::flow::report::{Deed, Touch};
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "bulk delete",
    aliases: &["find -delete", "find -exec rm", "xargs with rm"],
    description: "deletes files chosen by a search",
    checks: &[Check::Touch(check)],
    matches: &[
        "find . -delete",
        "find . -exec rm {} +",
        "ls | xargs rm",
        r#"find . -name core -exec sh -c 'rm "$1"' _ {} \;"#,
        "fd -e log -x rm",
        r#"find . -type f | while read f; do rm "$f"; done"#,
        "shred -u secrets.txt",
    ],
    passes: &[
        "find . -name x -print",
        "rm a b c",
        r#"read -r f; rm "$f""#,
        "ls | xargs wc -l",
        "find . -name '*-delete*'",
    ],
    ..Rule::ASK
};

fn check(touch: &Touch<'_>) -> bool {
    matches!(touch.deed, Deed::Delete { bulk: true, .. })
}
