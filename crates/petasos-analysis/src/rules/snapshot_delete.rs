//! Deletes backups or snapshots.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "backup or snapshot deletion",
    description: "deletes backups or snapshots",
    checks: &[Check::Signal(Signal::SnapshotDelete)],
    examples: include_str!("snapshot_delete.txt"),
    ..Rule::ASK
};
