//! File systems that are mounted, checked, grown or booted from.

use crate::program::{Program, act};
use crate::rule::Signal::MountChange;

pub(super) static PROGRAMS: &[Program] = &[
    act(MountChange, "mount", "#2; @-a; -o=*remount*"),
    act(MountChange, "umount", "-a|-f|-l; ^"),
    act(MountChange, "losetup", "-d|-D"),
    act(MountChange, "efibootmgr", "-B|-o|-c"),
    act(MountChange, "fsck e2fsck", "-y|-f|-a|-p"),
    act(MountChange, "tune2fs", "!@-l"),
    act(MountChange, "debugfs", "-w"),
    act(MountChange, "bootctl", "remove|install|update"),
    act(MountChange, "xfs_repair", "!-n"),
    act(MountChange, "swapoff", "#1"),
    act(
        MountChange,
        "resize2fs grub-install update-grub dracut update-initramfs lvresize lvextend xfs_growfs \
         quotaoff ntfsfix pvmove vgreduce grub-mkconfig bless fsfreeze",
        "",
    ),
];
