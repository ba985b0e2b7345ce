//! Gives a whole tree to root.

use crate::flow::call::Call;
use crate::path;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "recursive change of owner to root",
    description: "gives a whole tree to root",
    checks: &[Check::Signal(Signal::RootOwner), Check::Call("chown gchown", check)],
    examples: include_str!("chown_root.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let recursive = call.flag('R') || call.long("--recursive");
    let owner = call.operand(0);
    let vital = call
        .operands()
        .skip(1)
        .any(|arg| path::is_vital(&path::resolve(&arg.text, None, &call.facts.home), call.facts));
    let user = owner.split([':', '.']).next().unwrap_or_default();
    (recursive || call.bulk) && (matches!(user, "root" | "0" | "+0") || vital)
}
