//! Stops, restarts or updates the agent that is running.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "agent self-harm",
    description: "stops, restarts or updates the agent that is running",
    checks: &[Check::Signal(Signal::SelfHarm)],
    matches: &[
        "hermes gateway restart",
        "hermes update",
        "pkill hermes",
        "killall petasos",
        "petasos gateway stop",
    ],
    passes: &["hermes --help", "petasos doctor", "petasos approval list", "ps aux | grep hermes"],
    ..Rule::ASK
};
