//! Formats, repartitions or erases a disk or volume.

use crate::flow::call::Call;
use crate::path;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "make filesystem",
    aliases: &["disk or volume destruction"],
    description: "formats, repartitions or erases a disk or volume",
    severity: Severity::Block,
    checks: &[
        Check::Call(
            "mkfs mke2fs mkswap newfs mkdosfs mkntfs newfs_apfs newfs_hfs mkfs_msdos",
            formats,
        ),
        Check::Call(
            "fdisk sfdisk cfdisk gdisk sgdisk parted cgdisk partx addpart delpart",
            partitions,
        ),
        Check::Call(
            "wipefs blkdiscard badblocks hdparm nvme sg_format format-volume clear-disk \
                initialize-disk diskpart nwipe",
            erases,
        ),
        Check::Call(
            "lvremove vgremove pvremove cryptsetup mdadm zpool zfs btrfs dmsetup diskutil \
                format pvcreate growpart lvreduce flashrom mtd flash_erase",
            volumes,
        ),
    ],
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

fn on_disk(call: &Call<'_>) -> bool {
    call.args
        .iter()
        .any(|arg| path::is_disk(&path::resolve(&arg.text, None, "/")) || arg.is_unknown())
}

fn formats(call: &Call<'_>) -> bool {
    let last = call.operands().last();
    let image = last.is_some_and(|arg| {
        arg.text.ends_with(".img")
            || arg.text.ends_with(".raw")
            || arg.text.ends_with(".iso")
            || arg.text.ends_with(".ext4")
            || arg.text.ends_with(".qcow2")
    });
    last.is_some()
        && !(call.flag('n') && matches!(call.program, "mkfs" | "mkntfs" | "mkfs.ntfs"))
        && !(call.flag('N') && call.program == "mkfs.xfs")
        && (on_disk(call)
            || !image
                && (call.program == "mkfs" || call.program.starts_with("mkfs."))
                && last.is_some_and(|arg| arg.text.starts_with("/dev")))
}

/// Words with which a partitioner changes the disk, whatever else it prints.
const CHANGES: &str = "-Z -z -o -g -m -n -t -c -u -D --delete --zap --zap-all --new --clear mklabel mktable mkpart \
    rm resizepart --load-backup -l -G -R";

fn partitions(call: &Call<'_>) -> bool {
    let changed = match call.program {
        "sgdisk" => call.args.iter().any(|arg| arg.is("-d") || lists(CHANGES, &arg.text)),
        "parted" => call.operands().any(|arg| arg.text.len() > 1 && lists(CHANGES, &arg.text)),
        _ => false,
    };
    if changed && on_disk(call) {
        return true;
    }
    let lists = call.flag_word("-l")
        || call.flag_word("--list")
        || call.flag_word("print")
        || call.flag_word("-p")
        || call.flag_word("--print")
        || call.flag_word("-d")
        || call.flag_word("-s") && call.program == "fdisk"
        || call.flag_word("--dump")
        || call.flag_word("-i") && call.program == "sgdisk"
        || call.long("--verify")
        || call.flag_word("-x");
    on_disk(call) && !lists
}

fn erases(call: &Call<'_>) -> bool {
    match call.program {
        "wipefs" if call.flag('n') || call.long("--no-act") => false,
        "wipefs" => call.flag('a') || call.flag('o') || call.long("--all"),
        "badblocks" => call.flag('w'),
        "hdparm" => call.args.iter().any(|arg| {
            arg.text.starts_with("--security-erase")
                || arg.is("--trim-sector-ranges")
                || arg.is("--make-bad-sector")
                || arg.is("--write-sector")
        }),
        "nvme" => lists("format sanitize write-zeroes delete-ns write", call.operand(0)),
        "blkdiscard" => on_disk(call),
        "nwipe" => call.long("--autonuke") || on_disk(call),
        _ => true,
    }
}

fn volumes(call: &Call<'_>) -> bool {
    let first = call.operand(0);
    match call.program {
        "cryptsetup" => call
            .args
            .iter()
            .any(|arg| lists("luksFormat erase luksErase reencrypt luksKillSlot", &arg.text)),
        "mdadm" => {
            call.flag_word("--zero-superblock")
                || call.flag_word("--create")
                || call.flag_word("-C")
                || call.flag_word("--stop")
        }
        "zpool" => matches!(first, "destroy" | "labelclear" | "create"),
        "zfs" => first == "destroy",
        "btrfs" => first == "device" && matches!(call.operand(1), "delete" | "remove"),
        "dmsetup" => matches!(first, "remove" | "remove_all" | "wipe_table"),
        "diskutil" => {
            let verb = first.to_ascii_lowercase();
            verb.starts_with("erase")
                || verb.starts_with("partition")
                || matches!(verb.as_str(), "zerodisk" | "randomdisk" | "secureerase" | "reformat")
                || verb == "apfs" && call.operand(1).to_ascii_lowercase().starts_with("delete")
        }
        "format" => call.args.iter().any(|arg| arg.text.len() == 2 && arg.text.ends_with(':')),
        "growpart" | "pvcreate" => on_disk(call),
        "flashrom" => call.flag('w') || call.flag('E'),
        "mtd" => matches!(first, "erase" | "write"),
        _ => call.operands().next().is_some() && !call.flag('t'),
    }
}
