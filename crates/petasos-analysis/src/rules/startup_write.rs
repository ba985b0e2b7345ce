//! Writes a file that every new shell runs.

use crate::path::Target;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "write to a shell start-up file",
    description: "writes a file that every new shell runs",
    checks: &[Check::Write(Target::Startup)],
    examples: include_str!("startup_write.txt"),
    ..Rule::ASK
};
