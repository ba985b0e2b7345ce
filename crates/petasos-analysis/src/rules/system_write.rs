//! Writes system configuration or programs.

use crate::flow::report::{Deed, Touch};
use crate::path::{self, Target};
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "write to system configuration",
    aliases: &[
        "write to /etc",
        "tee to system config",
        "copy into system config",
        "in-place edit of system config",
    ],
    description: "writes system configuration or programs",
    checks: &[Check::Touch(check)],
    examples: include_str!("system_write.txt"),
    ..Rule::ASK
};

fn check(touch: &Touch<'_>) -> bool {
    touch.deed == Deed::Write
        && (touch.target == Target::SystemConfig
            || touch.target == Target::SystemFile
            || touch.elevated && path::is_system_area(touch.path)
            || path::is_vital(touch.path, touch.facts) && touch.path == "/")
}
