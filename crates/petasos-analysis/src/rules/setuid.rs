//! Lets a program run with the rights of another user.

use crate::flow::call::Call;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "set-uid bit or capability",
    description: "lets a program run with the rights of another user",
    checks: &[Check::Call("chmod setcap install", check)],
    examples: include_str!("setuid.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    if call.program == "setcap" {
        return !call.flag_word("-r") && call.operands().count() > 1;
    }
    let mode = if call.program == "install" {
        call.option(&["-m", "--mode"]).map(|arg| arg.text).unwrap_or_default()
    } else {
        call.operand(0).to_owned()
    };
    let special = mode.len() >= 4
        && mode.bytes().all(|byte| byte.is_ascii_digit())
        && mode.trim_start_matches('0').len() == 4
        && mode.trim_start_matches('0').starts_with(['4', '6', '2', '5', '7']);
    special
        || mode.split(',').any(|clause| {
            clause.split_once(['+', '=']).is_some_and(|(who, what)| {
                what.contains('s') && !who.contains('o') && clause.len() < 8
            })
        })
}
