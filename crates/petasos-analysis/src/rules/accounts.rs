//! Changes users, groups, passwords or sudo rights.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "account or privilege change",
    description: "changes users, groups, passwords or sudo rights",
    checks: &[Check::Signal(Signal::AccountChange)],
    matches: &[
        "userdel -r bob",
        "sudo usermod -aG sudo eve",
        "passwd -d root",
        "echo root:x | chpasswd",
        "visudo -f /etc/sudoers",
        "ssh-copy-id -i k.pub host",
        "aws iam create-access-key --user-name x",
    ],
    passes: &[
        "passwd -S",
        "chage -l me",
        "id",
        "groups",
        "aws iam list-users",
        "kubectl get rolebinding",
    ],
    ..Rule::ASK
};
