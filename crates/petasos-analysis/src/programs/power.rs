//! What stops, suspends or restarts the host.

use crate::program::{Program, act, verbal};
use crate::rule::Signal::Power;

pub(super) static PROGRAMS: &[Program] = &[
    act(Power, "shutdown", "!@-c|-k|/a !--show"),
    act(Power, "reboot poweroff halt", "!@-w|--wtmp-only"),
    act(Power, "init", "0|6|1|s !#3"),
    act(Power, "telinit", "0|6|1|s|5 !#3"),
    act(Power, "rtcwake", "-m|--mode=_ !-m|--mode=no|show|disable|on"),
    act(Power, "kexec", "-e|--exec"),
    act(Power, "fdesetup", "authrestart"),
    verbal(
        Power,
        "systemctl loginctl",
        "-H --host -M --machine -t --type -p --property -s --signal",
        "reboot|poweroff|halt|kexec|suspend|hibernate|hybrid-sleep|emergency|rescue|soft-reboot|\
         suspend-then-hibernate; \
         isolate|start|set-default ..reboot.target|poweroff.target|halt.target|shutdown.target|\
         kexec.target|systemd-reboot*|systemd-poweroff*|systemd-halt*|systemd-kexec*|\
         systemd-suspend*|emergency.target|rescue.target|suspend.target|hibernate.target|\
         runlevel?.target|ctrl-alt-del.target|soft-reboot.target|exit.target; \
         isolate reboot|poweroff|halt|rescue|emergency",
    ),
    act(
        Power,
        "busctl dbus-send gdbus qdbus",
        "~login1|consolekit|systemd1|ksmserver|sessionmanager ~poweroff|reboot|halt|suspend|\
         hibernate|powerdown|shutdown; ~ksmserver ~logout",
    ),
    act(Power, "osascript", "~systemevents|finder|loginwindow ~shutdown|restart|sleep"),
    act(Power, "pmset", "~sleepnow"),
    act(Power, "ipmitool", "~power ~off|cycle|reset|soft"),
    act(Power, "ansible", "-m|--module-name=*reboot|*shutdown"),
    act(Power, "xe", "host-shutdown|host-reboot"),
    act(Power, "dinitctl", "shutdown"),
    act(Power, "wmic", "~os ~shutdown|reboot"),
    act(Power, "initctl", "~runlevel ~0|6"),
    act(
        Power,
        "openrc-shutdown s6-svscanctl s6-linux-init-shutdown s6-linux-init-hpr stop-computer restart-computer runit-init acpitool \
         pm-suspend pm-hibernate gnome-session-quit xfce4-session-logout",
        "",
    ),
];
