//! Backups and snapshots.

use crate::program::{Program, act, verbal};
use crate::rule::Signal::SnapshotDelete;

pub(super) static PROGRAMS: &[Program] = &[
    act(SnapshotDelete, "btrfs", "subvolume|sub delete|del"),
    act(SnapshotDelete, "timeshift", "--delete*"),
    act(SnapshotDelete, "zfs", "rollback|recv -r|-F|-Rf"),
    act(SnapshotDelete, "tarsnap", "-d|--nuke"),
    act(SnapshotDelete, "rdiff-backup", "--remove*"),
    verbal(
        SnapshotDelete,
        "restic borg borgmatic snapper duplicity kopia duplicati-cli bup",
        "-r --repo -p --password-file -o --option --config-file",
        "forget|prune|delete|compact|rm|remove|remove-* !-n; snapshot delete|expire !-n",
    ),
];
