//! Stops, restarts, disables or masks a service.

use super::{Check, Rule, Signal};
use crate::flow::call::Call;
use crate::verdict::Severity;

/// Stops, restarts, disables or masks a service.
pub(super) static RULE: Rule = Rule {
    key: "stop or restart of a service",
    aliases: &["stop/restart system service"],
    description: "stops, restarts, disables or masks a service",
    severity: Severity::Ask,
    checks: &[
        Check::Signal(Signal::ServiceStop),
        Check::Call(
            &[
                "systemctl",
                "service",
                "launchctl",
                "rc-service",
                "sv",
                "supervisorctl",
                "pm2",
                "brew",
                "initctl",
                "update-rc.d",
                "chkconfig",
                "rc-update",
                "monit",
                "s6-svc",
                "svcadm",
                "s6-rc",
                "runsvctrl",
                "net",
                "sc",
                "set-service",
                "stop-service",
                "restart-service",
                "systemd-run",
                "forever",
                "nginx",
                "apachectl",
                "apache2ctl",
                "pg_ctl",
                "pg_ctlcluster",
                "invoke-rc.d",
                "synoservice",
                "loginctl",
                "god",
                "machinectl",
                "stop",
                "restart",
                "circusctl",
                "nssm",
                "rcctl",
                "svc",
                "snap",
                "caddy",
                "rabbitmqctl",
                "mysqladmin",
                "catalina.sh",
                "httpd",
                "heroku",
                "railway",
                "gcloud",
                "az",
                "redis-cli",
                "busctl",
                "dbus-send",
                "gdbus",
                "qdbus",
            ],
            check,
        ),
    ],
    matches: &[
        "systemctl stop nginx",
        "sudo systemctl restart postgresql",
        "systemctl --user disable foo",
        "service mysql stop",
        "systemctl mask apparmor",
        "/etc/init.d/apache2 restart",
        "/etc/init.d/anything stop",
        "systemctl -H root@h stop x",
        "supervisorctl stop all",
        "pm2 delete all",
        "launchctl unload ~/x.plist",
        "sc.exe config WinDefend start= disabled",
        "busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StopUnit ss nginx.service replace",
    ],
    passes: &[
        "systemctl status nginx",
        "systemctl start nginx",
        "systemctl list-units --failed",
        "systemctl cat sshd",
        "service nginx status",
        "pm2 list",
        "brew services list",
        "/etc/init.d/apache2 status",
        "heroku ps",
    ],
};

fn check(call: &Call<'_>) -> bool {
    system(call) || supervisor(call) || daemon(call) || over_bus(call)
}

/// The manager's own methods, called over the message bus.
fn over_bus(call: &Call<'_>) -> bool {
    matches!(call.program, "busctl" | "dbus-send" | "gdbus" | "qdbus")
        && call.args.iter().any(|arg| {
            matches!(
                arg.text.rsplit('.').next().unwrap_or_default(),
                "StopUnit"
                    | "RestartUnit"
                    | "TryRestartUnit"
                    | "ReloadOrRestartUnit"
                    | "KillUnit"
                    | "DisableUnitFiles"
                    | "MaskUnitFiles"
            )
        })
}

/// The service managers that systems come with.
fn system(call: &Call<'_>) -> bool {
    let verb = verb_behind_options(call);
    match call.program {
        "systemctl" | "machinectl" => matches!(
            verb,
            "stop"
                | "restart"
                | "disable"
                | "mask"
                | "kill"
                | "try-restart"
                | "reload-or-restart"
                | "force-reload"
                | "revert"
                | "isolate"
                | "daemon-reexec"
                | "terminate"
                | "condrestart"
                | "preset"
                | "preset-all"
                | "clean"
                | "set-property"
                | "edit"
                | "link"
                | "freeze"
                | "remove"
                | "reenable"
        ),
        "service" | "rc-service" | "invoke-rc.d" | "monit" | "god" | "net" | "sc" | "nssm"
        | "synoservice" => call.args.iter().any(|arg| {
            matches!(
                arg.text.as_str(),
                "stop"
                    | "restart"
                    | "force-reload"
                    | "delete"
                    | "condrestart"
                    | "--full-restart"
                    | "try-restart"
                    | "unmonitor"
                    | "remove"
                    | "force-stop"
            )
        }),
        "launchctl" => matches!(
            verb,
            "unload"
                | "bootout"
                | "stop"
                | "remove"
                | "kickstart"
                | "disable"
                | "kill"
                | "load"
                | "bootstrap"
                | "submit"
        ),
        _ => false,
    }
}

/// Supervisors, and what decides which services start.
fn supervisor(call: &Call<'_>) -> bool {
    let verb = call.operand(0);
    match call.program {
        "sv" | "rcctl" | "svc" => matches!(
            verb,
            "stop"
                | "restart"
                | "down"
                | "exit"
                | "force-stop"
                | "force-restart"
                | "force-shutdown"
                | "disable"
                | "kill"
                | "d"
                | "t"
                | "k"
                | "x"
        ),
        "supervisorctl" | "circusctl" => call.operands().take(2).any(|arg| {
            matches!(
                arg.text.as_str(),
                "stop" | "restart" | "shutdown" | "remove" | "reload" | "quit"
            )
        }),
        "pm2" | "forever" => matches!(
            verb,
            "delete" | "stop" | "kill" | "restart" | "del" | "stopall" | "restartall" | "unstartup"
        ),
        "brew" => verb == "services" && matches!(call.operand(1), "stop" | "restart" | "kill"),
        "initctl" => matches!(verb, "stop" | "restart"),
        "s6-rc" => call.flag('d'),
        "runsvctrl" => matches!(verb, "d" | "down" | "x" | "t" | "k"),
        "update-rc.d" | "chkconfig" | "rc-update" => call.args.iter().any(|arg| {
            matches!(arg.text.as_str(), "remove" | "disable" | "off" | "del" | "delete" | "--del")
        }),
        "s6-svc" | "svcadm" => {
            call.flag('d')
                || call.flag('k')
                || call.flag('r')
                || matches!(verb, "disable" | "restart" | "refresh")
        }
        _ => false,
    }
}

/// Daemons that are controlled by their own programs.
fn daemon(call: &Call<'_>) -> bool {
    let verb = call.operand(0);
    match call.program {
        "stop-service" | "restart-service" => true,
        "sc" => verb == "config" && call.args.iter().any(|arg| arg.text.ends_with("disabled")),
        "set-service" => call.args.iter().any(|arg| {
            arg.text.eq_ignore_ascii_case("disabled") || arg.text.eq_ignore_ascii_case("stopped")
        }),
        "nginx" => {
            call.values(&["-s"]).any(|signal| matches!(signal.text.as_str(), "stop" | "quit"))
        }
        "apachectl" | "apache2ctl" | "httpd" => call
            .args
            .iter()
            .any(|arg| matches!(arg.text.as_str(), "stop" | "restart" | "graceful-stop")),
        "pg_ctl" | "pg_ctlcluster" => call.flag_word("stop") || call.flag_word("restart"),
        "loginctl" => verb.starts_with("terminate") || verb.starts_with("kill"),
        "stop" | "restart" => {
            call.name.text == call.program && call.args.len() == 1 && !verb.is_empty()
        }
        "snap" => matches!(verb, "stop" | "restart" | "disable" | "remove"),
        "caddy" => verb == "stop",
        "rabbitmqctl" => matches!(verb, "stop" | "stop_app" | "shutdown"),
        "mysqladmin" => call.flag_word("shutdown"),
        "catalina.sh" => verb == "stop",
        "heroku" => {
            matches!(verb, "ps:stop" | "ps:restart" | "restart" | "maintenance:on" | "ps:kill")
        }
        "railway" => verb == "down",
        "gcloud" | "az" => call.operands().skip(1).take(3).any(|arg| {
            matches!(arg.text.as_str(), "stop" | "deallocate" | "restart" | "reset" | "suspend")
        }),
        _ => false,
    }
}

/// The verb behind options that take a value, such as the host of `-H`.
fn verb_behind_options<'c>(call: &Call<'c>) -> &'c str {
    const VALUES: [&str; 10] =
        ["-H", "--host", "-M", "--machine", "-t", "--type", "-p", "--property", "-s", "--signal"];
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        if VALUES.contains(&arg.text.as_str()) && matches!(call.program, "systemctl" | "machinectl")
        {
            rest.next();
        } else if !arg.text.starts_with('-') {
            return arg.text.as_str();
        }
    }
    ""
}
