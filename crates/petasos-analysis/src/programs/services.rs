//! Service managers, supervisors, and daemons that are controlled by their own programs.

use crate::program::{Program, act, verbal};
use crate::rule::Signal::{SelfHarm, ServiceStop};

pub(super) static PROGRAMS: &[Program] = &[
    act(ServiceStop, "mongod mongos", "--shutdown"),
    act(ServiceStop, "jboss-cli jboss-cli.sh", "~:shutdown|:stop|undeploy"),
    verbal(
        ServiceStop,
        "systemctl machinectl",
        "-H --host -M --machine -t --type -p --property -s --signal",
        "stop|restart|disable|mask|kill|try-restart|reload-or-restart|force-reload|revert|\
         isolate|daemon-reexec|terminate|condrestart|preset|preset-all|clean|set-property|edit|\
         link|freeze|remove|reenable",
    ),
    act(
        ServiceStop,
        "service rc-service invoke-rc.d monit god net sc nssm synoservice",
        "..stop|restart|force-reload|delete|condrestart|try-restart|unmonitor|remove|force-stop; \
         --full-restart",
    ),
    act(
        ServiceStop,
        "launchctl",
        "unload|bootout|stop|remove|kickstart|disable|kill|load|bootstrap|submit",
    ),
    act(
        ServiceStop,
        "sv rcctl svc runsvctrl",
        "stop|restart|down|exit|force-stop|force-restart|force-shutdown|disable|kill|d|t|k|x",
    ),
    act(
        ServiceStop,
        "supervisorctl circusctl",
        "stop|restart|shutdown|remove|reload|quit; _ stop|restart|shutdown|remove|reload|quit",
    ),
    act(ServiceStop, "pm2 forever", "delete|stop|kill|restart|del|stopall|restartall|unstartup"),
    act(ServiceStop, "brew", "services stop|restart|kill"),
    act(ServiceStop, "initctl", "stop|restart"),
    act(ServiceStop, "postfix exim dovecot", "stop|abort|restart"),
    act(ServiceStop, "s6-rc svc", "-d|-k|-x"),
    act(ServiceStop, "gh", "workflow disable; run cancel|delete"),
    act(ServiceStop, "update-rc.d chkconfig rc-update", "..remove|disable|off|del|delete; --del"),
    act(ServiceStop, "s6-svc svcadm", "-d; -k; -r; disable|restart|refresh"),
    act(ServiceStop, "stop-service restart-service", ""),
    act(ServiceStop, "sc", "config ~disabled"),
    act(ServiceStop, "set-service", "~disabled|stopped"),
    act(ServiceStop, "nginx", "-s=stop|quit"),
    act(ServiceStop, "apachectl apache2ctl httpd", "..stop|restart|graceful-stop"),
    act(ServiceStop, "pg_ctl pg_ctlcluster", "..stop|restart"),
    act(ServiceStop, "loginctl", "terminate*|kill*"),
    act(ServiceStop, "snap", "stop|restart|disable|remove"),
    act(ServiceStop, "caddy catalina.sh", "stop"),
    act(ServiceStop, "rabbitmqctl", "stop|stop_app|shutdown"),
    act(ServiceStop, "mysqladmin", "..shutdown"),
    act(ServiceStop, "heroku", "ps:stop|ps:restart|restart|maintenance:on|ps:kill"),
    act(ServiceStop, "railway", "down"),
    act(
        ServiceStop,
        "gcloud az",
        "_ stop|deallocate|restart|reset|suspend; _ _ stop|deallocate|restart|reset|suspend; \
         _ _ _ stop|deallocate|restart|reset|suspend",
    ),
    act(
        ServiceStop,
        "busctl dbus-send gdbus qdbus",
        "~stopunit|restartunit|killunit|disableunitfiles|maskunitfiles",
    ),
    act(SelfHarm, "hermes petasos", "gateway stop|restart|run|start|uninstall; update|uninstall"),
    act(SelfHarm, "pkill killall launchctl", "..*hermes*|*petasos*"),
];
