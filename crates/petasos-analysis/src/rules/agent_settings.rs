//! Writes the agent's own settings, rules or credentials.

use crate::path::Target;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "write to agent settings",
    description: "writes the agent's own settings, rules or credentials",
    checks: &[Check::Write(Target::Agent)],
    matches: &[
        "echo x > ~/.petasos/config.yaml",
        "sed -i 's/manual/off/' ~/.hermes/config.yaml",
        "cp env ~/.petasos/.env",
    ],
    passes: &["cat ~/.petasos/config.yaml", "echo x > config.yaml"],
    ..Rule::ASK
};
