//! Auditing, access control, logs, kernel modules and network interfaces.

use crate::program::{Program, act};
use crate::rule::Signal::SecurityOff;

pub(super) static PROGRAMS: &[Program] = &[
    act(SecurityOff, "dmesg", "-C|-c|--clear"),
    act(SecurityOff, "tccutil", "reset"),
    act(SecurityOff, "gpg gpg2", "--delete-secret*|--delete-keys"),
    act(SecurityOff, "mkcert", "@-uninstall|--uninstall"),
    act(SecurityOff, "step", "ca revoke"),
    act(SecurityOff, "setenforce", "@0|permissive"),
    act(
        SecurityOff,
        "aa-disable aa-complain aa-teardown set-mppreference add-mppreference clear-eventlog \
         rmmod insmod kextload kextunload disable-computerrestore setsebool",
        "",
    ),
    act(SecurityOff, "auditctl", "-e=0; @-D|-d"),
    act(SecurityOff, "apparmor_parser", "-R|--remove"),
    act(SecurityOff, "spctl", "@--master-disable|--global-disable|--disable"),
    act(SecurityOff, "csrutil fdesetup", "disable"),
    act(SecurityOff, "sysctl", "-w|-p; ..*=*"),
    act(SecurityOff, "swapoff", "-a"),
    act(SecurityOff, "fail2ban-client", "stop|unban"),
    act(SecurityOff, "semanage", "@permissive|-d|-D"),
    act(SecurityOff, "tmutil", "disable|delete|deletelocalsnapshots"),
    act(SecurityOff, "xattr", "-d @com.apple.quarantine; -c -r"),
    act(SecurityOff, "defaults", "write|delete /Library*"),
    act(SecurityOff, "bcdedit", "@/set|/delete"),
    act(SecurityOff, "vssadmin wbadmin", "@delete|resize"),
    act(SecurityOff, "wevtutil", "@cl|clear-log"),
    act(SecurityOff, "reg", "@delete|add|import"),
    act(SecurityOff, "modprobe", "-r|--remove; #1 !-n|-c"),
    act(SecurityOff, "history", "@-c|-cw|-wc"),
    act(SecurityOff, "chattr", "@-i*|-a*|+i*"),
    act(SecurityOff, "mokutil", "@--disable-validation|--import|--delete"),
    act(SecurityOff, "nvram", "-c|-d"),
    act(SecurityOff, "journalctl", "@--vacuum*|--rotate"),
    act(SecurityOff, "falconctl osqueryctl", "stop|unload|uninstall"),
    act(SecurityOff, "net", "user @/add|/delete; localgroup @/add"),
    act(SecurityOff, "ip", "link @down|delete|del; @flush"),
    act(SecurityOff, "ifconfig", "@down"),
    act(SecurityOff, "nmcli", "@off|delete"),
    act(SecurityOff, "authselect", "apply-changes|select|disable-feature"),
    act(SecurityOff, "update-crypto-policies", "--set"),
];
