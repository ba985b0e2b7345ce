//! Formats, repartitions or erases a disk or volume.

use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "make filesystem",
    aliases: &["disk or volume destruction"],
    description: "formats, repartitions or erases a disk or volume",
    severity: Severity::Block,
    checks: &[Check::Signal(Signal::DiskFormat)],
    examples: include_str!("disk_format.txt"),
};
