//! Stops, suspends or restarts the host.

use crate::flow::report::{Deed, Touch};
use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "shutdown or reboot",
    aliases: &[],
    description: "stops, suspends or restarts the host",
    severity: Severity::Block,
    checks: &[Check::Signal(Signal::Power), Check::Touch(trigger)],
    examples: include_str!("power.txt"),
};

/// Files through which the kernel or the first process is told to stop.
const TRIGGERS: &str =
    "/proc/sysrq-trigger /sys/power/state /dev/initctl /run/initctl /proc/acpi/sleep";

fn trigger(touch: &Touch<'_>) -> bool {
    touch.deed == Deed::Write && lists(TRIGGERS, touch.path)
}
