//! Shows a private key, token or password.

use super::{Check, Rule, Signal};
use crate::flow::call::Call;
use crate::flow::report::{Deed, Touch};
use crate::path;
use crate::verdict::Severity;

/// Shows a private key, token or password.
pub(super) static RULE: Rule = Rule {
    key: "read of a secret",
    aliases: &[],
    description: "shows a private key, token or password",
    severity: Severity::Ask,
    checks: &[
        Check::Touch(check),
        Check::Signal(Signal::SecretRead),
        Check::Call(
            &[
                "gpg",
                "gpg2",
                "security",
                "secret-tool",
                "getent",
                "pass",
                "gopass",
                "op",
                "vault",
                "ssh-add",
                "keyctl",
                "kubectl",
                "gcloud",
                "aws",
                "gh",
                "az",
                "doppler",
                "hermes",
                "petasos",
            ],
            tools,
        ),
    ],
    matches: &[
        "cat ~/.ssh/id_rsa",
        "sudo cat /etc/shadow",
        "base64 ~/.aws/credentials",
        "tar cz ~/.ssh",
        "gpg --export-secret-keys me",
    ],
    passes: &[
        "cat ~/.ssh/id_rsa.pub",
        "cat ~/.ssh/config",
        "ls ~/.ssh",
        "cat /etc/passwd",
        "ssh -i ~/.ssh/id_rsa host uptime",
    ],
};

fn check(touch: &Touch<'_>) -> bool {
    touch.deed == Deed::Read && path::is_secret(touch.path, touch.facts)
}

fn tools(call: &Call<'_>) -> bool {
    match call.program {
        "gpg" | "gpg2" => call.args.iter().any(|arg| arg.text.starts_with("--export-secret")),
        "security" => {
            matches!(call.operand(0), "dump-keychain" | "export")
                || call.operand(0).starts_with("find-") && (call.flag('w') || call.flag('g'))
        }
        "getent" => matches!(call.operand(0), "shadow" | "gshadow"),
        "secret-tool" => matches!(call.operand(0), "lookup" | "search"),
        _ => false,
    }
}
