//! Deletes a directory with everything in it.

use crate::flow::call::Call;
use crate::flow::report::{Deed, Touch};
use crate::path;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "recursive delete",
    aliases: &["recursive delete (long flag)", "delete in root path", "delete"],
    description: "deletes a directory with everything in it",
    checks: &[
        Check::Touch(check),
        Check::Call("rm rmdir rd del erase ri remove-item", windows),
        Check::Signal(Signal::Emptied),
    ],
    examples: include_str!("recursive_delete.txt"),
    ..Rule::ASK
};

fn check(touch: &Touch<'_>) -> bool {
    matches!(touch.deed, Deed::Delete { recursive: true, .. }) && !path::is_fresh(touch.path)
}

fn windows(call: &Call<'_>) -> bool {
    let quiet = call.args.iter().any(|arg| arg.text.eq_ignore_ascii_case("/q"));
    call.args.iter().filter(|arg| arg.text.starts_with(['/', '-'])).any(|arg| {
        let lower = arg.text.to_ascii_lowercase();
        lower == "/s" && (quiet || !matches!(call.program, "rm" | "rmdir"))
            || lower.len() > 3 && "-recurse".starts_with(&lower) && lower.starts_with("-rec")
    })
}
