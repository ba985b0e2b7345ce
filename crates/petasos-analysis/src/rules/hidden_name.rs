//! A command name hides control, invisible or look-alike characters, or a pattern.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "hidden characters",
    description: "a command name hides control, invisible or look-alike characters, or a pattern",
    checks: &[Check::Signal(Signal::HiddenName)],
    examples: include_str!("hidden_name.txt"),
    ..Rule::ASK
};
