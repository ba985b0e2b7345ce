//! A reading tool is told to start a program.

use crate::flow::call::Call;
use crate::rule::{Check, Rule};
use crate::words::lists;
use crate::wrapper::{self, Inner};

pub(super) static RULE: Rule = Rule {
    key: "read tool runs a program",
    description: "a reading tool is told to start a program",
    checks: &[Check::Call("rg sort man ag", check)],
    examples: include_str!("read_tool_program.txt"),
    ..Rule::ASK
};

/// Programs that readers are usually told to start.
const USUAL: &str = "less more cat gzip zstd lz4 bzip2 xz pdftotext bat most";

fn check(call: &Call<'_>) -> bool {
    let usual = |text: &str| text.is_empty() || text == "less -R" || lists(USUAL, text);
    wrapper::unwrap(call).is_some_and(|inners| {
        inners.list.iter().any(|inner| matches!(inner, Inner::Shell(code, _) if !usual(&code.text)))
    })
}
