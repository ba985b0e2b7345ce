//! What formats, repartitions or erases disks and volumes.

use crate::program::{Program, act};
use crate::rule::Signal::DiskFormat;

pub(super) static PROGRAMS: &[Program] = &[
    act(
        DiskFormat,
        "mkfs mke2fs mkswap newfs mkdosfs mkntfs newfs_apfs newfs_hfs mkfs_msdos",
        "%; ../dev/* !..*.img|*.raw|*.iso|*.ext4|*.qcow2",
    ),
    act(
        DiskFormat,
        "sgdisk",
        "% @-d|-Z|-z|-o|-g|-m|-n|-t|-c|-u|-D|--delete|--zap|--zap-all|--new|--clear|\
         --load-backup|-l|-G|-R; % !@-l|--list|-p|--print|-i|-x !--verify",
    ),
    act(DiskFormat, "parted", "% ..mklabel|mktable|mkpart|rm|resizepart"),
    act(DiskFormat, "fdisk", "% !@-l|--list|-p|--print|-d|-s|--dump|-x !--verify"),
    act(
        DiskFormat,
        "sfdisk cfdisk gdisk parted cgdisk partx addpart delpart",
        "% !@-l|--list|print|-p|--print|-d|--dump|-x|-s|--show !--verify",
    ),
    act(DiskFormat, "wipefs", "-a|-o|--all"),
    act(DiskFormat, "badblocks", "-w"),
    act(
        DiskFormat,
        "hdparm",
        "@--security-erase*|--trim-sector-ranges|--make-bad-sector|--write-sector",
    ),
    act(DiskFormat, "nvme", "format|sanitize|write-zeroes|delete-ns|write"),
    act(DiskFormat, "blkdiscard growpart pvcreate", "%"),
    act(DiskFormat, "nwipe", "--autonuke; %"),
    act(DiskFormat, "sg_format format-volume clear-disk initialize-disk diskpart", ""),
    act(DiskFormat, "cryptsetup", "@luksFormat|erase|luksErase|reencrypt|luksKillSlot"),
    act(DiskFormat, "mdadm", "@--zero-superblock|--create|-C|--stop"),
    act(DiskFormat, "zpool", "destroy|labelclear|create"),
    act(DiskFormat, "zfs", "destroy"),
    act(DiskFormat, "btrfs", "device delete|remove; device add -f|--force; replace start -f"),
    act(DiskFormat, "dmsetup", "remove|remove_all|wipe_table"),
    act(
        DiskFormat,
        "diskutil",
        "erase*|partition*|zerodisk|randomdisk|secureerase|reformat; apfs delete*",
    ),
    act(DiskFormat, "format", "@?:"),
    act(DiskFormat, "flashrom", "-w|-E"),
    act(DiskFormat, "mtd", "erase|write"),
    act(DiskFormat, "fastboot", "erase|format|flash; -w"),
    act(DiskFormat, "wodim cdrecord growisofs", "~blank=|-z/dev"),
    act(DiskFormat, "cipher", "@/w*"),
    act(DiskFormat, "blkzone", "reset|finish"),
    act(DiskFormat, "ocs-sr", "..restore*"),
    act(DiskFormat, "lvremove vgremove pvremove lvreduce flash_erase", "#1 !-t"),
];
