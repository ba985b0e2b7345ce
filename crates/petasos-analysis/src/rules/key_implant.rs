//! Adds a trusted key, certificate or hook.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "key or trust implant",
    description: "adds a trusted key, certificate or hook",
    checks: &[Check::Signal(Signal::KeyImplant)],
    examples: include_str!("key_implant.txt"),
    ..Rule::ASK
};
