//! Writes over a disk, a partition or raw memory.

use crate::flow::report::{Deed, Touch};
use crate::path;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "raw disk write",
    aliases: &["write to a disk device"],
    description: "writes over a disk, a partition or raw memory",
    severity: Severity::Block,
    checks: &[Check::Touch(check)],
    examples: include_str!("disk_write.txt"),
};

fn check(touch: &Touch<'_>) -> bool {
    let deletes = matches!(touch.deed, Deed::Delete { .. });
    (touch.deed == Deed::Write || deletes) && path::is_disk(touch.path)
}
