//! Stops, restarts or updates the agent that is running.

use crate::flow::call::Call;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "agent self-harm",
    aliases: &[],
    description: "stops, restarts or updates the agent that is running",
    severity: Severity::Ask,
    checks: &[Check::Call("hermes petasos pkill killall launchctl", check)],
    matches: &[
        "hermes gateway restart",
        "hermes update",
        "pkill hermes",
        "killall petasos",
        "petasos gateway stop",
    ],
    passes: &["hermes --help", "petasos doctor", "petasos approval list", "ps aux | grep hermes"],
};

fn check(call: &Call<'_>) -> bool {
    let ours = |text: &str| text.contains("hermes") || text.contains("petasos");
    match call.program {
        "hermes" | "petasos" => match call.operand(0) {
            "gateway" => lists("stop restart run start uninstall", call.operand(1)),
            "update" | "uninstall" => true,
            _ => false,
        },
        _ => call.operands().any(|arg| ours(&arg.text)),
    }
}
