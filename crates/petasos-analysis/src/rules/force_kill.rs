//! Kills processes by name or pattern.

use crate::flow::call::Call;
use crate::flow::value::Taint;
use crate::rule::{Check, Rule, Signal};
use crate::words::{begins, lists};

pub(super) static RULE: Rule = Rule {
    key: "force kill by name",
    aliases: &["force kill processes", "kill by pattern"],
    description: "kills processes by name or pattern",
    checks: &[Check::Signal(Signal::ForceKill), Check::Call("pkill killall kill skill", check)],
    examples: include_str!("force_kill.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let force = call.args.iter().any(|arg| {
        lists(
            "-9 -KILL -SIGKILL -kill --signal=9 --signal=KILL --signal=SIGKILL -s9 -sKILL /f \
                /F -Force -n9",
            &arg.text,
        )
    }) || call.values(&["-s", "--signal", "-n"]).any(|signal| {
        matches!(signal.text.to_ascii_uppercase().as_str(), "9" | "KILL" | "SIGKILL")
    });
    match call.program {
        "pkill" | "skill" => {
            let probe = call.flag_word("-0") || call.flag_word("-l");
            !probe
                && (force
                    || call.options().any(|arg| {
                        let short = !arg.text.starts_with("--") && arg.text.len() < 5;
                        begins("-f -u -U -t -g -P --full", &arg.text)
                            || short && arg.text.ends_with('f')
                    })
                    || call.operands().any(|arg| arg.text.contains(['.', '*', '[', '|', '^'])))
        }
        "killall" => {
            let has = |words: &str| call.args.iter().any(|arg| lists(words, &arg.text));
            !has("-l -V -0 --list") && (force || has("-r --regexp -m -u --user"))
        }
        "kill" => {
            force && (call.args.iter().any(|arg| arg.taint.has(Taint::PROCESSES)) || call.bulk)
        }
        _ => false,
    }
}
