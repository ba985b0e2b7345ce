//! Writes SSH keys, tokens or other credentials.

use crate::path::Target;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "write to a credential file",
    aliases: &["write to the SSH folder"],
    description: "writes SSH keys, tokens or other credentials",
    checks: &[Check::Write(Target::Credential)],
    matches: &[
        "cat key >> ~/.ssh/authorized_keys",
        "cp k ~/.ssh/authorized_keys",
        "install -m600 /tmp/c ~/.netrc",
        "perl -i -pe 's/a/b/' ~/.netrc",
        "tar xf keys.tar -C ~/.ssh",
    ],
    passes: &["cp ~/.ssh/config /tmp", "ls -la ~/.ssh", "cat ~/.ssh/id_rsa.pub"],
    ..Rule::ASK
};
