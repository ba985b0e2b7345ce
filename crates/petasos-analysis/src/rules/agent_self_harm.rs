//! Stops, restarts or updates the agent that is running.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "agent self-harm",
    description: "stops, restarts or updates the agent that is running",
    checks: &[Check::Signal(Signal::SelfHarm)],
    examples: include_str!("agent_self_harm.txt"),
    ..Rule::ASK
};
