//! Mounts over, remounts or unmounts a file system.

use crate::flow::call::Call;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "mount change",
    aliases: &[],
    description: "mounts over, remounts or unmounts a file system",
    severity: Severity::Ask,
    checks: &[Check::Call(
        "mount umount swapoff swapon losetup fsck e2fsck tune2fs resize2fs xfs_repair \
                debugfs fstrim grub-install update-grub efibootmgr dracut update-initramfs \
                bootctl lvresize lvextend xfs_growfs quotaoff ntfsfix pvmove vgreduce \
                grub-mkconfig bless fsfreeze",
        check,
    )],
    matches: &[
        "mount -o remount,rw /",
        "umount -a",
        "mount --bind /tmp/x /etc",
        "tune2fs -O ^has_journal /dev/sda1",
        "grub-install /dev/sda",
    ],
    passes: &["mount", "mount -l", "losetup -a", "efibootmgr -v", "e2fsck -fn disk.img"],
};

fn check(call: &Call<'_>) -> bool {
    match call.program {
        "mount" => {
            call.operands().count() > 1
                || call.flag_word("-a")
                || call.values(&["-o"]).any(|value| value.text.contains("remount"))
        }
        "umount" => call.flag('a') || call.flag('f') || call.flag('l') || call.elevated,
        "losetup" => call.flag('d') || call.flag('D'),
        "efibootmgr" => call.flag('B') || call.flag('o') || call.flag('c'),
        "fsck" | "e2fsck" => call.flag('y') || call.flag('f') || call.flag('a') || call.flag('p'),
        "tune2fs" => !call.flag_word("-l"),
        "debugfs" => call.flag('w'),
        "bootctl" => matches!(call.operand(0), "remove" | "install" | "update"),
        "xfs_repair" => !call.flag('n'),
        "fstrim" | "swapon" => false,
        "swapoff" => call.operands().next().is_some(),
        _ => true,
    }
}
