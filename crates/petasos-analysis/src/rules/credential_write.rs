//! Writes SSH keys, tokens or other credentials.

use crate::path::Target;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "write to a credential file",
    aliases: &["write to the SSH folder"],
    description: "writes SSH keys, tokens or other credentials",
    checks: &[Check::Write(Target::Credential)],
    examples: include_str!("credential_write.txt"),
    ..Rule::ASK
};
