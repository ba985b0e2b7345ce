//! Changes permissions or owners of a whole system directory.

use crate::flow::call::Call;
use crate::path;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "permission sweep of a system directory",
    description: "changes permissions or owners of the root, a home or a system directory, with everything in it",
    checks: &[Check::Call("chmod chown chgrp setfacl chattr chcon", check)],
    examples: include_str!("permission_sweep.txt"),
    ..Rule::ASK
};

fn check(call: &Call<'_>) -> bool {
    let recursive = call.flag('R') || call.long("--recursive");
    recursive
        && call.operands().skip(1).any(|arg| {
            path::is_vital(&path::resolve(&arg.text, call.cwd, &call.facts.home), call.facts)
        })
}
