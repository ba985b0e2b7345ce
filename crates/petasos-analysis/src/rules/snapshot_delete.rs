//! Deletes backups or snapshots.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "backup or snapshot deletion",
    description: "deletes backups or snapshots",
    checks: &[Check::Signal(Signal::SnapshotDelete)],
    matches: &[
        "restic forget --prune --keep-last 1",
        "borg delete repo::archive",
        "btrfs subvolume delete /snapshots/1",
        "snapper delete 1-10",
        "timeshift --delete-all",
    ],
    passes: &[
        "restic snapshots",
        "borg list repo",
        "btrfs subvolume list /",
        "restic forget --dry-run --keep-last 1",
        "borg prune -n repo",
    ],
    ..Rule::ASK
};
