//! A reading tool is told to start a program.

use crate::flow::call::Call;
use crate::rule::{Check, Rule};
use crate::verdict::Severity;

pub(super) static RULE: Rule = Rule {
    key: "read tool runs a program",
    aliases: &[],
    description: "a reading tool is told to start a program",
    severity: Severity::Ask,
    checks: &[Check::Call("rg sort man ag", check)],
    matches: &[
        "rg --pre ./x.sh foo",
        "sort --compress-program=./x f",
        "man -P ./x ls",
        "rg --hostname-bin=./h foo",
        "ag --pager=./x foo",
    ],
    passes: &["rg foo", "sort f", "man ls", "rg --pretty foo"],
};

fn check(call: &Call<'_>) -> bool {
    let names: &[&str] = match call.program {
        "rg" => &["--pre", "--hostname-bin"],
        "sort" => &["--compress-program"],
        "man" => &["-P", "--pager", "-H", "--html"],
        _ => &["--pager"],
    };
    let usual = [
        "less",
        "more",
        "cat",
        "gzip",
        "zstd",
        "lz4",
        "bzip2",
        "xz",
        "pdftotext",
        "less -R",
        "bat",
        "most",
        "",
    ];
    call.option(names).is_some_and(|program| !usual.contains(&program.text.as_str()))
}
