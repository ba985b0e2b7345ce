//! Changes users, groups, passwords or sudo rights.

use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "account or privilege change",
    aliases: &[],
    description: "changes users, groups, passwords or sudo rights",
    severity: Severity::Ask,
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
};
