//! Stops, restarts, disables or masks a service.

use crate::flow::call::Call;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "stop or restart of a service",
    aliases: &["stop/restart system service"],
    description: "stops, restarts, disables or masks a service",
    checks: &[Check::Signal(Signal::ServiceStop), Check::Call("stop restart", check)],
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
    ..Rule::ASK
};

/// `stop x`, the command of an old service manager.
fn check(call: &Call<'_>) -> bool {
    call.name.text == call.program && call.args.len() == 1 && !call.operand(0).is_empty()
}
