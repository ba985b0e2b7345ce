//! Deletes files chosen by a search.

use crate::flow::report::{Deed, Touch};
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "bulk delete",
    aliases: &["find -delete", "find -exec rm", "xargs with rm"],
    description: "deletes files chosen by a search",
    checks: &[Check::Touch(check)],
    examples: include_str!("bulk_delete.txt"),
    ..Rule::ASK
};

fn check(touch: &Touch<'_>) -> bool {
    matches!(touch.deed, Deed::Delete { bulk: true, .. })
}
