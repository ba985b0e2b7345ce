//! A command name hides control, invisible or look-alike characters, or a pattern.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "hidden characters",
    description: "a command name hides control, invisible or look-alike characters, or a pattern",
    checks: &[Check::Signal(Signal::HiddenName)],
    matches: &["\u{ff4c}\u{ff53} -la", "l\u{200b}s", "/bin/r? x", "\u{202e}ls"],
    passes: &["ls", "echo \"\u{4fa1}\u{683c}\"", "grep na\u{ef}ve docs", "ls *.rs"],
    ..Rule::ASK
};
