//! Switches off auditing, mandatory access control or protection.

use crate::flow::call::Call;
use crate::flow::report::{Deed, Touch};
use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "security tooling switched off",
    aliases: &["security tooling"],
    description: "switches off auditing, mandatory access control or protection",
    severity: Severity::Ask,
    checks: &[
        Check::Signal(Signal::HistoryOff),
        Check::Touch(traces),
        Check::Call(
            "dmesg tccutil setenforce aa-disable aa-complain aa-teardown auditctl \
                apparmor_parser spctl csrutil set-mppreference sysctl swapoff selinuxenabled \
                fail2ban-client freshclam semanage getenforce tmutil xattr defaults bcdedit \
                vssadmin wevtutil clear-eventlog reg set-executionpolicy modprobe rmmod insmod \
                setsebool history chattr mokutil nvram kextload kextunload journalctl ulimit \
                osqueryctl falconctl chage faillock ssh-keyscan fdesetup cipher wbadmin \
                add-mppreference disable-computerrestore net sudo ip ifconfig nmcli unset",
            check,
        ),
    ],
    matches: &[
        "setenforce 0",
        "auditctl -e 0",
        "spctl --master-disable",
        "sysctl -w kernel.randomize_va_space=0",
        "rmmod module",
        "history -c",
        "journalctl --vacuum-time=1s",
        "vssadmin delete shadows /all",
        "unset HISTFILE",
        "export HISTFILE=/dev/null",
        "set +o history",
        "ln -sf /dev/null ~/.bash_history",
        "> /var/log/auth.log",
        "dmesg -C",
    ],
    passes: &[
        "getenforce",
        "sysctl -a",
        "auditctl -l",
        "lsmod",
        "history",
        "journalctl -u nginx",
        "spctl --status",
        "export HISTSIZE=10000",
        "tail /var/log/auth.log",
        "grep ssh ~/.bash_history",
        "echo x >> /var/log/app/app.log",
    ],
};

fn check(call: &Call<'_>) -> bool {
    let any = |words: &[&str]| {
        call.args.iter().any(|arg| words.iter().any(|word| arg.text.eq_ignore_ascii_case(word)))
    };
    let first = call.operand(0);
    match call.program {
        "dmesg" => call.flag('C') || call.flag('c') || call.long("--clear"),
        "tccutil" => first == "reset",
        "setenforce" => any(&["0", "permissive"]),
        "aa-disable"
        | "aa-complain"
        | "aa-teardown"
        | "set-mppreference"
        | "add-mppreference"
        | "clear-eventlog"
        | "rmmod"
        | "insmod"
        | "kextload"
        | "kextunload"
        | "disable-computerrestore" => true,
        "auditctl" => {
            call.values(&["-e"]).any(|state| state.is("0"))
                || call.flag_word("-D")
                || call.flag_word("-d")
        }
        "apparmor_parser" => call.flag('R') || call.long("--remove"),
        "spctl" => any(&["--master-disable", "--global-disable", "--disable"]),
        "csrutil" => first == "disable",
        "sysctl" => {
            call.flag('w') || call.flag('p') || call.operands().any(|arg| arg.text.contains('='))
        }
        "swapoff" => call.flag('a'),
        "fail2ban-client" => matches!(first, "stop" | "unban"),
        "semanage" => any(&["permissive"]) || any(&["-d", "-D"]),
        "setsebool" => true,
        "tmutil" => matches!(first, "disable" | "delete" | "deletelocalsnapshots"),
        "xattr" => {
            any(&["com.apple.quarantine"]) && call.flag('d') || call.flag('c') && call.flag('r')
        }
        "defaults" => {
            first == "write" && call.operand(1).starts_with("/Library")
                || first == "delete" && call.operand(1).starts_with("/Library")
        }
        "bcdedit" => any(&["/set", "/delete"]),
        "vssadmin" | "wbadmin" => any(&["delete", "resize"]),
        "wevtutil" => any(&["cl", "clear-log"]),
        "reg" => any(&["delete", "add", "import"]),
        _ => machine(call),
    }
}

/// Modules, histories, firmware and network interfaces.
fn machine(call: &Call<'_>) -> bool {
    let any = |words: &[&str]| {
        call.args.iter().any(|arg| words.iter().any(|word| arg.text.eq_ignore_ascii_case(word)))
    };
    let first = call.operand(0);
    match call.program {
        "modprobe" => {
            call.flag('r')
                || call.long("--remove")
                || call.operands().next().is_some() && !call.flag('n') && !call.flag('c')
        }
        "history" => call.flag_word("-c") || call.flag_word("-cw") || call.flag_word("-wc"),
        "chattr" => call.args.iter().any(|arg| {
            arg.text.starts_with("-i")
                || arg.text.starts_with("-a")
                || arg.text.starts_with("+i")
                || arg.is("-ia")
        }),
        "mokutil" => any(&["--disable-validation", "--import", "--delete"]),
        "nvram" => call.flag('c') || call.flag('d'),
        "journalctl" => {
            call.args.iter().any(|arg| arg.text.starts_with("--vacuum") || arg.is("--rotate"))
        }
        "falconctl" | "osqueryctl" => matches!(first, "stop" | "unload" | "uninstall"),
        "fdesetup" => first == "disable",
        "net" => {
            first.eq_ignore_ascii_case("user") && any(&["/add", "/delete"])
                || first.eq_ignore_ascii_case("localgroup") && any(&["/add"])
        }
        "ip" => first == "link" && any(&["down", "delete", "del"]) || any(&["flush"]),
        "ifconfig" => any(&["down"]),
        "nmcli" => any(&["off", "delete"]),
        _ => false,
    }
}

/// Logs and histories that tell who did what.
fn traces(touch: &Touch<'_>) -> bool {
    const LOGS: &str =
        "auth.log syslog messages secure wtmp btmp lastlog kern.log faillog utmp system.log audit";
    if !matches!(touch.deed, Deed::Write | Deed::Delete { .. }) {
        return false;
    }
    let name = touch.path.rsplit('/').next().unwrap_or_default();
    if touch.path.contains('/')
        && lists(".bash_history .zsh_history .sh_history .ash_history fish_history", name)
    {
        return true;
    }
    touch.path.strip_prefix("/var/log/").is_some_and(|rest| {
        let first = rest.split('/').next().unwrap_or_default();
        lists(LOGS, first) || first == "journal" || matches!(first, "*" | "*.log")
    })
}
