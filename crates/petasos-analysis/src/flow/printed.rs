//! What small tools print, and whom a listing leaves out. Plain functions of a call.

use super::call::Call;
use super::printf;
use super::value::{Arg, Stream, Taint};
use crate::words::lists;

pub(super) fn echo(args: &[Arg]) -> String {
    let mut escapes = false;
    let mut newline = true;
    let mut skipped = 0;
    for arg in args {
        match arg.text.strip_prefix('-') {
            Some(flags)
                if !flags.is_empty() && flags.bytes().all(|flag| b"neE".contains(&flag)) =>
            {
                escapes |= flags.contains('e');
                newline &= !flags.contains('n');
                skipped += 1;
            }
            _ => break,
        }
    }
    let words: Vec<&str> = args.iter().skip(skipped).map(|arg| arg.text.as_str()).collect();
    let mut text = words.join(" ");
    if escapes {
        text = printf::unescape(&text, false);
    }
    if newline {
        text.push('\n');
    }
    text
}

pub(super) fn which(args: &[Arg]) -> Stream {
    match args.iter().rfind(|arg| !arg.text.starts_with('-')) {
        Some(arg) => Stream { text: Some(arg.text.clone()), taint: arg.taint.with(Taint::LOCATED) },
        None => Stream::unknown(Taint::PROGRAM),
    }
}

pub(super) fn split_path(call: &Call<'_>) -> Stream {
    let Some(path) = call.operands().next() else { return Stream::empty() };
    let text = path.text.trim_end_matches('/');
    let (head, tail) = text.rsplit_once('/').unwrap_or((".", text));
    let head = if head.is_empty() { "/" } else { head };
    let text = if call.program == "dirname" { head } else { tail };
    Stream { text: Some(text.to_owned()), taint: path.taint }
}

pub(super) fn seq(args: &[Arg]) -> Stream {
    let numbers: Vec<i64> = args.iter().filter_map(|arg| arg.text.parse().ok()).collect();
    let (first, last) = match numbers.as_slice() {
        [last] => (1, *last),
        [first, last] => (*first, *last),
        _ => return Stream::unknown(Taint::NONE),
    };
    if last < first || last.abs_diff(first) > 512 {
        return Stream::unknown(Taint::NONE);
    }
    Stream::known(
        (first..=last).fold(String::new(), |text, number| text + &number.to_string() + "\n"),
    )
}

/// What `jq -rn` prints for a program that is nothing but a string.
pub(super) fn json_text(call: &Call<'_>) -> Stream {
    match serde_json::from_str::<String>(call.operand(0)) {
        Ok(text) => Stream::known(text + "\n"),
        // Any other program.
        Err(_) => Stream::unknown(Taint::PROGRAM),
    }
}

/// Options of `ps` that pick some processes, or that are long.
pub(super) const PICKING: [&str; 9] = ["-p", "-C", "-u", "-U", "-t", "-g", "-G", "-s", "--"];

/// `ps -e`, `ps aux`, `pgrep .`: nobody is left out.
pub(super) fn lists_every_process(call: &Call<'_>) -> bool {
    let mut options = call.options().map(|arg| arg.text.as_str());
    if call.program == "pgrep" {
        return call.operands().next().is_some()
            && call.operands().all(|arg| crate::rule::matches_everything(&arg.text))
            && options.all(|option| lists("-f -l -a -x -i", option));
    }
    if options.any(|option| PICKING.iter().any(|name| option.starts_with(name))) {
        return false;
    }
    // Letters up to the one whose value is a list of columns.
    let letters = |text: &'_ str| text.split('o').next().unwrap_or_default().to_owned();
    call.args.iter().enumerate().any(|(at, arg)| match arg.text.strip_prefix('-') {
        Some(flags) => letters(flags).contains(['e', 'A']),
        None => at == 0 && letters(&arg.text).contains('x'),
    })
}

/// Whether a filter lets only some lines through; numbers alone are no choice.
pub(super) fn picks(call: &Call<'_>) -> bool {
    let pattern = call.operand(0);
    match call.program {
        "grep" | "egrep" | "fgrep" => {
            let digits = pattern.trim_matches(['^', '$', '\\', '(', ')', '+', '*']);
            !call.flag('v') && !matches!(digits, "[0-9]" | "[[:digit:]]" | "d" | "" | ".")
        }
        "awk" | "gawk" => picks_records(pattern),
        "head" => true,
        "tail" => !call.args.iter().any(|arg| arg.text.contains('+')),
        "sed" | "gsed" => pattern.starts_with('/') || call.flag('n'),
        _ => false,
    }
}

/// Whether an AWK program leaves records out, but for a heading.
pub(super) fn picks_records(program: &str) -> bool {
    let program: String = program.chars().filter(|letter| !letter.is_whitespace()).collect();
    let body = ["NR>1", "NR!=1", "NR>=2"].iter().find_map(|head| program.strip_prefix(head));
    let body = body.unwrap_or(&program);
    !body.starts_with('{') || ["if(", "~", "==", "<", ">"].iter().any(|sign| body.contains(sign))
}

/// Everything below the roots of a `find`.
pub(super) fn swept(call: &Call<'_>, all: &str) -> Stream {
    let roots = crate::wrappers::find_roots(call.args);
    let text = roots
        .iter()
        .take(16)
        .fold(String::new(), |text, root| text + root.text.trim_end_matches('/') + all);
    Stream { text: Some(text), taint: Taint::LISTING }
}
