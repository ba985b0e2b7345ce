//! Shows a private key, token or password.

use crate::flow::report::{Deed, Touch};
use crate::path;
use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "read of a secret",
    description: "shows a private key, token or password",
    checks: &[
        Check::Touch(check),
        Check::Signal(Signal::SecretRead),
        Check::Signal(Signal::KeyExport),
    ],
    examples: include_str!("secret_read.txt"),
    ..Rule::ASK
};

fn check(touch: &Touch<'_>) -> bool {
    touch.deed == Deed::Read && path::is_secret(touch.path, touch.facts)
}
