//! Stops, restarts, disables or masks a service.

use crate::flow::call::Call;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "stop or restart of a service",
    aliases: &["stop/restart system service"],
    description: "stops, restarts, disables or masks a service",
    checks: &[Check::Signal(Signal::ServiceStop), Check::Call("stop restart", check)],
    examples: include_str!("services.txt"),
    ..Rule::ASK
};

/// `stop x`, the command of an old service manager.
fn check(call: &Call<'_>) -> bool {
    call.name.text == call.program && call.args.len() == 1 && !call.operand(0).is_empty()
}
