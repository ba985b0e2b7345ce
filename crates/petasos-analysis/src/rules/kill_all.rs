//! Signals every process.

use crate::flow::call::Call;
use crate::flow::value::{Arg, Taint};
use crate::rule::{Check, Rule, Signal, matches_everything};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "kill all processes",
    aliases: &[],
    description: "signals every process",
    severity: Severity::Block,
    checks: &[
        Check::Call("kill killall5 killall pkill skill", check),
        Check::Signal(Signal::KillAll),
    ],
    examples: include_str!("kill_all.txt"),
};

fn check(call: &Call<'_>) -> bool {
    match call.program {
        "killall5" => true,
        "pkill" | "killall" | "skill" => {
            let everything = call.operands().any(|arg| matches_everything(&arg.text));
            everything && !call.flag_word("-0") && !call.flag('l')
        }
        _ => targets_all(call) || names_all(call),
    }
}

/// `kill` with the numbers of all processes, from a listing or by a pattern in `/proc`.
fn names_all(call: &Call<'_>) -> bool {
    let everyone = |arg: &Arg| {
        arg.taint.has(Taint::EVERY_PROCESS)
            || arg.text.starts_with("[0-9]") && arg.text.ends_with('*')
    };
    !call.flag_word("-0") && !call.flag('l') && call.args.iter().any(everyone)
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
