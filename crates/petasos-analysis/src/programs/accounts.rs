//! Users, groups, passwords and rights.

use crate::program::{Program, act};
use crate::rule::Signal::AccountChange;

pub(super) static PROGRAMS: &[Program] = &[
    act(
        AccountChange,
        "userdel useradd usermod adduser deluser groupdel groupadd groupmod gpasswd delgroup \
         addgroup chsh chfn sysadminctl ssh-copy-id pwconv pwunconv grpconv new-localuser \
         remove-localuser add-localgroupmember",
        "@*",
    ),
    act(AccountChange, "chpasswd newusers vipw vigr", ""),
    act(AccountChange, "kadmin kadmin.local", "~delprinc|delete_principal|addprinc|cpw"),
    act(AccountChange, "passwd", "!@-S|--status"),
    act(AccountChange, "visudo", "!-c"),
    act(AccountChange, "smbpasswd pdbedit", "-x"),
    act(AccountChange, "chage", "!@-l"),
    act(AccountChange, "dscl", "@-create|-delete|-append|-passwd|-change"),
    act(AccountChange, "pw", "@user*|group*"),
    act(AccountChange, "dseditgroup", "-o=_ !-o=read|checkmember"),
    act(
        AccountChange,
        "aws",
        "iam create-access-key*|create-user*|create-login-profile*|attach-*|put-*|add-*|update-*|\
         create-role*|create-policy*",
    ),
    act(AccountChange, "gcloud", "..*-iam-policy-binding|set-iam-policy; ..keys ..create"),
    act(AccountChange, "az", "role _ create"),
    act(AccountChange, "kubectl", "create *rolebinding"),
];
