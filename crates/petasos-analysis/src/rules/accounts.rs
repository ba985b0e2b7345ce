//! Changes users, groups, passwords or sudo rights.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "account or privilege change",
    description: "changes users, groups, passwords or sudo rights",
    checks: &[Check::Signal(Signal::AccountChange)],
    examples: include_str!("accounts.txt"),
    ..Rule::ASK
};
