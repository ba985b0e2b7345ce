//! Switches off auditing, mandatory access control or protection.

use crate::flow::report::{Deed, Touch};
use crate::rule::{Check, Rule, Signal};
use crate::words::lists;

pub(super) static RULE: Rule = Rule {
    key: "security tooling switched off",
    aliases: &["security tooling"],
    description: "switches off auditing, mandatory access control or protection",
    checks: &[Check::Signal(Signal::SecurityOff), Check::Touch(traces)],
    examples: include_str!("security_off.txt"),
    ..Rule::ASK
};

/// Logs and histories that tell who did what.
fn traces(touch: &Touch<'_>) -> bool {
    const LOGS: &str =
        "auth.log syslog messages secure wtmp btmp lastlog kern.log faillog utmp system.log audit";
    if !matches!(touch.deed, Deed::Write | Deed::Delete { .. }) {
        return false;
    }
    let name = touch.path.rsplit('/').next().unwrap_or_default();
    if touch.path.contains('/')
        && lists(".bash_history .zsh_history .sh_history .ash_history fish_history", name)
    {
        return true;
    }
    touch.path.strip_prefix("/var/log/").is_some_and(|rest| {
        let first = rest.split('/').next().unwrap_or_default();
        lists(LOGS, first) || first == "journal" || matches!(first, "*" | "*.log")
    })
}
