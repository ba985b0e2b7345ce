//! Changes users, groups, passwords or sudo rights.

use crate::flow::call::Call;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "account or privilege change",
    aliases: &[],
    description: "changes users, groups, passwords or sudo rights",
    severity: Severity::Ask,
    checks: &[Check::Call(
        "userdel useradd usermod adduser deluser groupdel groupadd groupmod passwd \
                chpasswd visudo gpasswd delgroup addgroup chsh chfn vipw vigr dscl sysadminctl \
                newusers pw dseditgroup ssh-copy-id htpasswd pwconv pwunconv chage grpconv \
                new-localuser remove-localuser add-localgroupmember aws gcloud az kubectl",
        check,
    )],
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

fn check(call: &Call<'_>) -> bool {
    match call.program {
        "passwd" => !call.flag_word("-S") && !call.flag_word("--status"),
        "visudo" => !call.flag('c'),
        "chage" => !call.flag_word("-l"),
        "dscl" => {
            call.args.iter().any(|arg| lists("-create -delete -append -passwd -change", &arg.text))
        }
        "pw" => call
            .args
            .iter()
            .any(|arg| arg.text.starts_with("user") || arg.text.starts_with("group")),
        "htpasswd" => false,
        "dseditgroup" => {
            call.values(&["-o"]).any(|verb| !matches!(verb.text.as_str(), "read" | "checkmember"))
        }
        "aws" => {
            call.operand(0) == "iam"
                && [
                    "create-access-key",
                    "create-user",
                    "create-login-profile",
                    "attach-",
                    "put-",
                    "add-",
                    "update-",
                    "create-role",
                    "create-policy",
                ]
                .iter()
                .any(|stem| call.operand(1).starts_with(stem))
        }
        "gcloud" => {
            call.operands()
                .take(4)
                .any(|arg| arg.text.ends_with("-iam-policy-binding") || arg.is("set-iam-policy"))
                || call.operands().any(|arg| arg.is("keys"))
                    && call.operands().any(|arg| arg.is("create"))
        }
        "az" => call.operand(0) == "role" && call.operand(2) == "create",
        "kubectl" => {
            call.operand(0) == "create"
                && call.operand(1).ends_with("rolebinding")
                && !call.args.iter().any(|arg| arg.text.starts_with("--dry-run"))
        }
        _ => {
            !call.args.is_empty()
                || matches!(call.program, "chpasswd" | "newusers" | "vipw" | "vigr")
        }
    }
}
