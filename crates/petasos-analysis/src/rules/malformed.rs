//! Is not a complete shell command.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "malformed command",
    description: "is not a complete shell command",
    checks: &[Check::Signal(Signal::Malformed)],
    matches: &["echo 'unfinished", "if true; then echo x", "echo $(ls", "foo ) bar"],
    passes: &["echo hi", "for i in 1 2; do echo $i; done"],
    ..Rule::ASK
};
