//! Stops, suspends or restarts the host.

use crate::flow::call::Call;
use crate::flow::report::{Deed, Touch};
use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "shutdown or reboot",
    aliases: &[],
    description: "stops, suspends or restarts the host",
    severity: Severity::Block,
    checks: &[
        Check::Call(
            "shutdown reboot poweroff halt telinit init systemctl loginctl openrc-shutdown \
                kexec rtcwake fdesetup",
            check,
        ),
        Check::Call(
            "busctl dbus-send gdbus qdbus osascript pmset stop-computer restart-computer \
                initctl runit-init s6-svscanctl ipmitool acpitool pm-suspend pm-hibernate \
                gnome-session-quit xfce4-session-logout wmic virsh ansible",
            indirect,
        ),
        Check::Touch(trigger),
        Check::Signal(Signal::Power),
    ],
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

fn check(call: &Call<'_>) -> bool {
    let first = call.operand(0);
    match call.program {
        "shutdown" => {
            !(call.flag_word("-c")
                || call.flag_word("-k")
                || call.flag_word("/a")
                || call.long("--show"))
        }
        "reboot" | "poweroff" | "halt" => !call.flag_word("-w") && !call.flag_word("--wtmp-only"),
        "init" | "telinit" => {
            lists("0 6 1 s S 5", first)
                && (call.name.text.starts_with('/') || call.args.len() <= 2)
                && (first != "5" || call.program == "telinit")
        }
        "rtcwake" => call
            .values(&["-m", "--mode"])
            .any(|mode| !matches!(mode.text.as_str(), "no" | "show" | "disable" | "on")),
        "kexec" => call.flag('e') || call.long("--exec"),
        "openrc-shutdown" => true,
        "fdesetup" => first == "authrestart",
        _ => units(call),
    }
}

fn units(call: &Call<'_>) -> bool {
    let target = |text: &str| {
        let stem = text.strip_suffix(".target").unwrap_or(text);
        lists(
            "reboot poweroff halt shutdown kexec emergency rescue suspend hibernate runlevel0 \
                runlevel6 ctrl-alt-del soft-reboot exit",
            stem,
        ) && text.ends_with(".target")
    };
    let verb = call.operand(0);
    lists(
        "reboot poweroff halt kexec suspend hibernate hybrid-sleep emergency rescue \
                soft-reboot suspend-then-hibernate",
        verb,
    ) || matches!(verb, "isolate" | "start" | "set-default")
        && call.operands().skip(1).any(|arg| {
            target(&arg.text)
                || verb == "isolate" && lists("reboot poweroff halt rescue emergency", &arg.text)
        })
}

fn indirect(call: &Call<'_>) -> bool {
    let has = |wanted: &[&str]| {
        call.args
            .iter()
            .any(|arg| wanted.iter().any(|word| arg.text.to_ascii_lowercase().contains(word)))
    };
    match call.program {
        "busctl" | "dbus-send" | "gdbus" | "qdbus" => {
            has(&["login1", "consolekit", "systemd1", "ksmserver", "sessionmanager"])
                && has(&[
                    "poweroff",
                    "reboot",
                    "halt",
                    "suspend",
                    "hibernate",
                    "powerdown",
                    "shutdown",
                ])
        }
        "osascript" => {
            has(&["system events", "finder", "loginwindow"])
                && has(&["shut down", "restart", "sleep"])
        }
        "pmset" => has(&["sleepnow"]),
        "ipmitool" => has(&["power"]) && has(&["off", "cycle", "reset", "soft"]),
        "virsh" => false,
        "ansible" => call.values(&["-m", "--module-name"]).any(|module| {
            let name = module.text.rsplit('.').next().unwrap_or_default();
            matches!(name, "reboot" | "win_reboot" | "shutdown")
        }),
        "wmic" => has(&["os"]) && has(&["shutdown", "reboot"]),
        "s6-svscanctl" => true,
        "initctl" => has(&["runlevel"]) && has(&["0", "6"]),
        _ => true,
    }
}

fn trigger(touch: &Touch<'_>) -> bool {
    touch.deed == Deed::Write
        && (touch.path == "/proc/sysrq-trigger"
            || touch.path == "/sys/power/state"
            || touch.path == "/dev/initctl"
            || touch.path == "/run/initctl"
            || touch.path == "/proc/acpi/sleep")
}
