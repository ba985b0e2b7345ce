//! Backups and snapshots.

use crate::program::{Program, program};
use crate::rule::Signal::SnapshotDelete;

pub(super) static PROGRAMS: &[Program] = &[
    program("btrfs", "", &[(SnapshotDelete, "subvolume|sub delete|del")]),
    program("timeshift", "", &[(SnapshotDelete, "--delete*")]),
    program("tarsnap", "", &[(SnapshotDelete, "-d|--nuke")]),
    program("rdiff-backup", "", &[(SnapshotDelete, "--remove*")]),
    program(
        "restic borg borgmatic snapper duplicity kopia duplicati-cli bup",
        "",
        &[(
            SnapshotDelete,
            "forget|prune|delete|compact|rm|remove|remove-* !-n; snapshot delete|expire !-n",
        )],
    ),
];
