//! Service managers, supervisors, and daemons that are controlled by their own programs.

use crate::program::{Program, program};
use crate::rule::Signal::ServiceStop;

pub(super) static PROGRAMS: &[Program] = &[
    program(
        "systemctl machinectl",
        "-H --host -M --machine -t --type -p --property -s --signal",
        &[(
            ServiceStop,
            "stop|restart|disable|mask|kill|try-restart|reload-or-restart|force-reload|revert|isolate|\
             daemon-reexec|terminate|condrestart|preset|preset-all|clean|set-property|edit|link|freeze|\
             remove|reenable",
        )],
    ),
    program(
        "service rc-service invoke-rc.d monit god net sc nssm synoservice",
        "",
        &[(
            ServiceStop,
            "..stop|restart|force-reload|delete|condrestart|try-restart|unmonitor|remove|force-stop; \
             --full-restart",
        )],
    ),
    program(
        "launchctl",
        "",
        &[(ServiceStop, "unload|bootout|stop|remove|kickstart|disable|kill|load|bootstrap|submit")],
    ),
    program(
        "sv rcctl svc runsvctrl",
        "",
        &[(
            ServiceStop,
            "stop|restart|down|exit|force-stop|force-restart|force-shutdown|disable|kill|d|t|k|x",
        )],
    ),
    program(
        "supervisorctl circusctl",
        "",
        &[(
            ServiceStop,
            "stop|restart|shutdown|remove|reload|quit; _ stop|restart|shutdown|remove|reload|quit",
        )],
    ),
    program(
        "pm2 forever",
        "",
        &[(ServiceStop, "delete|stop|kill|restart|del|stopall|restartall|unstartup")],
    ),
    program("brew", "", &[(ServiceStop, "services stop|restart|kill")]),
    program("initctl", "", &[(ServiceStop, "stop|restart")]),
    program("postfix exim dovecot", "", &[(ServiceStop, "stop|abort|restart")]),
    program("s6-rc", "", &[(ServiceStop, "-d")]),
    program(
        "update-rc.d chkconfig rc-update",
        "",
        &[(ServiceStop, "..remove|disable|off|del|delete; --del")],
    ),
    program("s6-svc svcadm", "", &[(ServiceStop, "-d; -k; -r; disable|restart|refresh")]),
    program("stop-service restart-service", "", &[(ServiceStop, "")]),
    program("sc", "", &[(ServiceStop, "config ~disabled")]),
    program("set-service", "", &[(ServiceStop, "~disabled|stopped")]),
    program("nginx", "", &[(ServiceStop, "-s=stop|quit")]),
    program("apachectl apache2ctl httpd", "", &[(ServiceStop, "..stop|restart|graceful-stop")]),
    program("pg_ctl pg_ctlcluster", "", &[(ServiceStop, "..stop|restart")]),
    program("loginctl", "", &[(ServiceStop, "terminate*|kill*")]),
    program("snap", "", &[(ServiceStop, "stop|restart|disable|remove")]),
    program("caddy catalina.sh", "", &[(ServiceStop, "stop")]),
    program("rabbitmqctl", "", &[(ServiceStop, "stop|stop_app|shutdown")]),
    program("mysqladmin", "", &[(ServiceStop, "..shutdown")]),
    program("heroku", "", &[(ServiceStop, "ps:stop|ps:restart|restart|maintenance:on|ps:kill")]),
    program("railway", "", &[(ServiceStop, "down")]),
    program(
        "gcloud az",
        "",
        &[(
            ServiceStop,
            "_ stop|deallocate|restart|reset|suspend; _ _ stop|deallocate|restart|reset|suspend; \
             _ _ _ stop|deallocate|restart|reset|suspend",
        )],
    ),
    program(
        "busctl dbus-send gdbus qdbus",
        "",
        &[(ServiceStop, "~StopUnit|RestartUnit|KillUnit|DisableUnitFiles|MaskUnitFiles")],
    ),
];
