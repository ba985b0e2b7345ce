//! Deletes backups or snapshots.

use super::{Check, Rule};
use crate::flow::call::Call;
use crate::verdict::Severity;

/// Deletes backups or snapshots.
pub(super) static RULE: Rule = Rule {
    key: "backup or snapshot deletion",
    aliases: &[],
    description: "deletes backups or snapshots",
    severity: Severity::Ask,
    checks: &[Check::Call(
        &[
            "restic",
            "borg",
            "borgmatic",
            "btrfs",
            "snapper",
            "timeshift",
            "duplicity",
            "kopia",
            "duplicati-cli",
            "tarsnap",
            "rdiff-backup",
            "bup",
        ],
        check,
    )],
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
};

fn check(call: &Call<'_>) -> bool {
    if call.long("--dry-run") || call.flag_word("-n") {
        return false;
    }
    let first = call.operand(0);
    match call.program {
        "btrfs" => {
            matches!(first, "subvolume" | "sub") && matches!(call.operand(1), "delete" | "del")
        }
        "timeshift" => call.options().any(|arg| arg.text.starts_with("--delete")),
        "tarsnap" => call.flag_word("-d") || call.flag_word("--nuke"),
        "rdiff-backup" => call.options().any(|arg| arg.text.starts_with("--remove")),
        _ => {
            matches!(first, "forget" | "prune" | "delete" | "compact" | "rm" | "remove")
                || first.starts_with("remove-")
                || first == "snapshot" && matches!(call.operand(1), "delete" | "expire")
        }
    }
}
