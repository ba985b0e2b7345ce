//! Deletes a file of the system, a start-up file or a credential.

use crate::flow::report::{Deed, Touch};
use crate::path::{self, Target};
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "delete of a system or credential file",
    description: "deletes a file of the system, a start-up file or a credential",
    checks: &[Check::Touch(check)],
    examples: include_str!("sensitive_delete.txt"),
    ..Rule::ASK
};

fn check(touch: &Touch<'_>) -> bool {
    matches!(touch.deed, Deed::Delete { .. })
        && (touch.target != Target::Ordinary
            || path::is_system_area(touch.path)
            || path::is_vital(touch.path, touch.facts))
}
