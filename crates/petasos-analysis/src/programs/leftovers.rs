//! What was put aside and is now gone for good, here or on the machines of an inventory.

use crate::program::{Program, act};
use crate::rule::Signal::Emptied;

pub(super) static PROGRAMS: &[Program] = &[
    act(Emptied, "trash-empty clear-recyclebin", ""),
    act(Emptied, "osascript", "~finder ~delete|emptythetrash|emptytrash"),
    act(Emptied, "smbclient", "~deltree|rmdir"),
    act(Emptied, "chef-apply chef-client", "~action:delete|action:remove"),
    act(Emptied, "gio", "trash --empty"),
    act(Emptied, "gvfs-trash", "--empty"),
    act(Emptied, "postsuper", "-d=ALL"),
    act(Emptied, "exim exim4", "@-Mrm"),
    act(Emptied, "conda mamba micromamba", "env remove|delete"),
    act(Emptied, "puppet", "~ensure=>absent|ensure=absent|ensure=stopped"),
    act(
        Emptied,
        "ansible",
        "-a|--args=*state=absent*|*state=stopped*|*state=restarted*|*state=reloaded*; \
         -m|--module-name=reboot|*.reboot",
    ),
];
