//! Publishes a package or release to the world.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "package publish",
    description: "publishes a package or release to the world",
    checks: &[Check::Signal(Signal::Publish)],
    examples: include_str!("publish.txt"),
    ..Rule::ASK
};
