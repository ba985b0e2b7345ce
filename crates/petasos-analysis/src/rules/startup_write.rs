//! Writes a file that every new shell runs.

use crate::path::Target;
use crate::rule::{Check, Rule};

pub(super) static RULE: Rule = Rule {
    key: "write to a shell start-up file",
    description: "writes a file that every new shell runs",
    checks: &[Check::Write(Target::Startup)],
    matches: &[
        "echo 'export A=1' >> ~/.bashrc",
        "sed -i 's/a/b/' ~/.zshrc",
        "cp /tmp/e ~/.profile",
        ": > ~/.bash_profile",
    ],
    passes: &["cat ~/.bashrc", "source ~/.bashrc", "grep alias ~/.zshrc"],
    ..Rule::ASK
};
