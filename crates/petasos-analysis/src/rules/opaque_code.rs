//! Runs text that cannot be read beforehand.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "opaque code execution",
    aliases: &["inline program"],
    description: "runs text that cannot be read beforehand",
    checks: &[Check::Signal(Signal::OpaqueCode), Check::Signal(Signal::UnknownProgram)],
    matches: &[
        r#"eval "$(cat payload)""#,
        r#"ls | awk '{print "mv " $1 " x"}' | sh"#,
        "$CMD -rf /",
        "$(cat cmd.txt)",
        "jq -r .cmd p.json | sh",
        r#"eval "$(< payload)""#,
    ],
    passes: &[
        r#"eval "$(ssh-agent -s)""#,
        "cat script.sh | bash",
        r#""$PYTHON" -m pytest"#,
        "$(npm bin)/eslint .",
    ],
    ..Rule::ASK
};
