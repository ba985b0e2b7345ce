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
    matches: &[
        "shutdown -h now",
        "sudo reboot",
        "(poweroff)",
        "init 0",
        "telinit 6",
        "systemctl reboot",
        r#"bash -c "reboot""#,
        "echo b > /proc/sysrq-trigger",
        "systemctl isolate reboot.target",
        "sudo systemctl start poweroff.target",
        "busybox reboot -f",
        "ansible all -b -m reboot",
    ],
    passes: &[
        "echo reboot",
        "./shutdown_server.sh",
        "shutdown --help",
        "systemctl status",
        "shutdown -c",
        "init --version",
        "python manage.py test shutdown.tests",
    ],
};

/// Files through which the kernel or the first process is told to stop.
const TRIGGERS: &str =
    "/proc/sysrq-trigger /sys/power/state /dev/initctl /run/initctl /proc/acpi/sleep";

fn trigger(touch: &Touch<'_>) -> bool {
    touch.deed == Deed::Write && lists(TRIGGERS, touch.path)
}
