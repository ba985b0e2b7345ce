//! Starts copies of itself without end.

use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "fork bomb",
    aliases: &[],
    description: "starts copies of itself without end",
    severity: Severity::Block,
    checks: &[Check::Signal(Signal::ForkBomb)],
    matches: &[
        ":(){ :|:& };:",
        "bomb() { bomb | bomb & }; bomb",
        "perl -e 'fork while fork'",
        "f(){ f & f & }; f",
        "while true; do $0 & done",
        "./$0 | ./$0 &",
    ],
    passes: &[
        "greet() { echo hi; }; greet",
        "f() { sleep 1 & }; f",
        r#""$0" --inner | tee log"#,
        "python3 -c 'import os; print(os.getpid())'",
    ],
};
