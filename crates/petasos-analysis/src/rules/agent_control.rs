//! Changes or gets round the agent's own rules, consents or records through its own program.

use crate::flow::call::Call;
use crate::own_program;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "change to agent policy",
    description: "changes or gets round the agent's own rules, consents or records",
    checks: &[Check::Call(own_program::CALLED, check), Check::Signal(Signal::OwnPolicy)],
    examples: include_str!("agent_control.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let words: Vec<&str> = call.args.iter().map(|arg| arg.text.as_str()).collect();
    own_program::change(&words).is_some()
}
