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
    examples: include_str!("system_delete.txt"),
};

fn check(touch: &Touch<'_>) -> bool {
    let Deed::Delete { recursive, bulk, narrowed } = touch.deed else { return false };
    let swept = bulk && touch.path.strip_prefix('/').is_some_and(|rest| rest.chars().eq([UNKNOWN]));
    (recursive || bulk)
        && !narrowed
        && (path::is_vital(touch.path, touch.facts) || recursive && swept)
}
