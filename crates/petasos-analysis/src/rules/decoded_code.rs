//! Runs code that was encoded, encrypted or compressed.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "decoded code execution",
    aliases: &["encoded command execution"],
    description: "runs code that was encoded, encrypted or compressed",
    checks: &[Check::Signal(Signal::DecodedCode)],
    matches: &[
        "echo cm0gLXJmIC4vYnVpbGQ= | base64 -d | bash",
        "xxd -r -p payload.hex | bash",
        r#"eval "$(echo bHM= | base64 -d)""#,
        r#"python3 -c "import base64;exec(base64.b64decode('cHJpbnQoMSk='))""#,
        "gunzip -c x.gz | sh",
        "x=$(echo bHM= | base64 -d); $x",
        r#"python3 -c "import codecs; exec(codecs.decode('vzcbeg bf','rot13'))""#,
        "openssl enc -d -base64 <<< bHMK | sh",
    ],
    passes: &["echo aGk= | base64 -d", "base64 -d x.b64 > x.bin", "gunzip -c x.gz | head"],
    ..Rule::ASK
};
