//! Writes over a disk, a partition or raw memory.

use crate::flow::report::{Deed, Touch};
use crate::path;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "raw disk write",
    aliases: &["write to a disk device"],
    description: "writes over a disk, a partition or raw memory",
    severity: Severity::Block,
    checks: &[Check::Touch(check)],
    matches: &[
        "dd if=x of=/dev/nvme0n1",
        "cat img > /dev/sda",
        "echo x | sudo tee /dev/sdb",
        "cp image.iso /dev/sdb",
        "shred -n 1 /dev/sda",
        "qemu-img convert -O raw vm.qcow2 /dev/sdb",
        "socat -u FILE:img FILE:/dev/sdb",
    ],
    passes: &["dd if=a of=b.img", "echo x > /dev/null", "ls /dev/sda", "cat notes > /dev/stderr"],
};

fn check(touch: &Touch<'_>) -> bool {
    let deletes = matches!(touch.deed, Deed::Delete { .. });
    (touch.deed == Deed::Write || deletes) && path::is_disk(touch.path)
}
