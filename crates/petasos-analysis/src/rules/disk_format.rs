//! Formats, repartitions or erases a disk or volume.

use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "make filesystem",
    aliases: &["disk or volume destruction"],
    description: "formats, repartitions or erases a disk or volume",
    severity: Severity::Block,
    checks: &[Check::Signal(Signal::DiskFormat)],
    matches: &[
        "mkfs.ext4 /dev/sdb1",
        "mkfs -t xfs /dev/vdb",
        "mkswap /dev/sda2",
        "mkfs.vfat -n DATA /dev/sdb1",
        "parted -s /dev/sda mklabel gpt",
        "wipefs -a /dev/sda",
        "blkdiscard /dev/nvme0n1",
        "sgdisk --zap-all /dev/sda",
        "cryptsetup luksFormat /dev/sdb",
        "zpool destroy tank",
        "diskutil eraseDisk JHFS+ X disk2",
        "lvremove -f vg0/root",
    ],
    passes: &[
        "mkfs.ext4 disk.img",
        "fdisk -l",
        "mkfs.ext4 -n /dev/sdb1",
        "parted -l",
        "wipefs /dev/sda",
        "mkfs_helper --version",
        "man mkfs",
        "hdparm -I /dev/sda",
        "zfs list",
        "lsblk",
    ],
};
