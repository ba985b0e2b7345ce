//! Runs code that was encoded, encrypted or compressed.

use crate::rule::{Check, Rule, Signal};

pub(super) static RULE: Rule = Rule {
    key: "decoded code execution",
    aliases: &["encoded command execution"],
    description: "runs code that was encoded, encrypted or compressed",
    checks: &[Check::Signal(Signal::DecodedCode)],
    examples: include_str!("decoded_code.txt"),
    ..Rule::ASK
};
