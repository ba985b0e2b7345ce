//! Signals every process.

use super::{Check, Rule, Signal};
use crate::flow::call::Call;
use crate::verdict::Severity;

/// Signals every process.
pub(super) static RULE: Rule = Rule {
    key: "kill all processes",
    aliases: &[],
    description: "signals every process",
    severity: Severity::Block,
    checks: &[
        Check::Call(&["kill", "killall5", "killall", "pkill", "skill"], check),
        Check::Signal(Signal::KillAll),
    ],
    matches: &[
        "kill -9 -1",
        "kill -KILL -1",
        "kill -s TERM -- -1",
        "killall5 -9",
        "pkill -9 .",
        "python3 -c 'import os; os.kill(-1, 9)'",
    ],
    passes: &["kill -9 1234", "kill -1 1234", "kill -HUP 77", "killall -l", "kill -9 -4321"],
};

fn check(call: &Call<'_>) -> bool {
    match call.program {
        "killall5" => true,
        "pkill" | "killall" | "skill" => {
            let everything = call.operands().any(|arg| {
                matches!(arg.text.as_str(), "." | ".*" | "^" | "" | ".+" | "[a-z]*" | "*")
            });
            everything && !call.flag_word("-0") && !call.flag('l')
        }
        _ => targets_all(call),
    }
}

/// `kill` with the target -1: every process. As the first word it is a signal.
fn targets_all(call: &Call<'_>) -> bool {
    if call.flag_word("-l") || call.flag_word("-L") || call.flag_word("-0") {
        return false;
    }
    let mut words = call.args.iter().map(|arg| arg.text.as_str());
    let mut signal_seen = false;
    while let Some(word) = words.next() {
        match word {
            "-s" | "-n" | "--signal" => {
                words.next();
                signal_seen = true;
            }
            "--" => signal_seen = true,
            "-1" if signal_seen => return true,
            "-1" => {
                // A lone signal number takes its targets behind it.
                signal_seen = true;
                if call.args.len() == 1 {
                    return false;
                }
            }
            _ => {
                signal_seen |=
                    word.starts_with('-') || word.bytes().all(|byte| byte.is_ascii_digit());
            }
        }
    }
    false
}
