//! Is not a complete shell command.

use crate::rule::{Check, Rule, Signal};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "malformed command",
    aliases: &[],
    description: "is not a complete shell command",
    severity: Severity::Ask,
    checks: &[Check::Signal(Signal::Malformed)],
    matches: &["echo 'unfinished", "if true; then echo x", "echo $(ls", "foo ) bar"],
    passes: &["echo hi", "for i in 1 2; do echo $i; done"],
};
