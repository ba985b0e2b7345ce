//! Mounts over, remounts or unmounts a file system.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "mount change",
    description: "mounts over, remounts or unmounts a file system",
    checks: &[Check::Signal(Signal::MountChange)],
    matches: &[
        "mount -o remount,rw /",
        "umount -a",
        "mount --bind /tmp/x /etc",
        "tune2fs -O ^has_journal /dev/sda1",
        "grub-install /dev/sda",
    ],
    passes: &["mount", "mount -l", "losetup -a", "efibootmgr -v", "e2fsck -fn disk.img"],
    ..Rule::ASK
};
