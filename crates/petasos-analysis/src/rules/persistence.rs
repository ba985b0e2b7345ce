//! Leaves something behind that starts by itself.

use crate::path::Target;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "persistence",
    description: "leaves something behind that starts by itself",
    checks: &[Check::Write(Target::Persistence)],
    examples: include_str!("persistence.txt"),
    ..Rule::ASK
};
