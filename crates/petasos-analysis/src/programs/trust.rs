//! Keys, certificates and programs that are trusted from then on.

use crate::program::{Program, act};
use crate::rule::Signal::KeyImplant;

pub(super) static PROGRAMS: &[Program] = &[
    act(
        KeyImplant,
        "ssh-import-id ssh-import-id-gh ssh-import-id-lp update-ca-certificates dpkg-divert",
        "",
    ),
    act(KeyImplant, "trust", "anchor"),
    act(KeyImplant, "security", "add-trusted*|import"),
    act(KeyImplant, "update-rc.d chkconfig rc-update", "@defaults|enable|on|add|--add"),
    act(
        KeyImplant,
        "npm pnpm yarn",
        "config set *_auth*|script-shell*; config set strict-ssl* @*false",
    ),
    act(KeyImplant, "loginctl", "enable-linger"),
    act(KeyImplant, "pip pip3 uv", "config set *index-url*|*trusted-host*"),
    act(KeyImplant, "defaults", "write _ LoginHook|LogoutHook"),
    act(KeyImplant, "systemctl", "enable"),
    act(KeyImplant, "update-alternatives", "@--install|--set"),
    act(KeyImplant, "sc", "create"),
    act(KeyImplant, "keytool", "@-importcert|-import|-delete|-importkeystore"),
    act(KeyImplant, "certutil", "-A"),
    act(KeyImplant, "hash", "@-p"),
    act(KeyImplant, "enable", "@-f"),
];
