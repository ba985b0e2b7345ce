//! Writes the agent's own settings, rules or credentials.

use crate::path::Target;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "write to agent settings",
    description: "writes the agent's own settings, rules or credentials",
    checks: &[Check::Write(Target::Agent)],
    examples: include_str!("agent_settings.txt"),
    ..Rule::ASK
};
