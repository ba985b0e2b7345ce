//! Interpreters with code in an argument, on standard input, or in a file.

use super::{Inner, Inners, Wrapper};
use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::value::Arg;

pub(super) static WRAPPER: Wrapper = Wrapper {
    names: &[
        "python",
        "python2",
        "python3",
        "pypy",
        "pypy3",
        "ipython",
        "perl",
        "perl5",
        "ruby",
        "jruby",
        "irb",
        "node",
        "nodejs",
        "deno",
        "bun",
        "tsx",
        "ts-node",
        "php",
        "lua",
        "luajit",
        "awk",
        "gawk",
        "mawk",
        "nawk",
        "original-awk",
        "rscript",
        "r",
        "tclsh",
        "expect",
        "osascript",
        "groovy",
        "julia",
        "elixir",
        "scala",
        "guile",
        "sbcl",
        "ghc",
        "jshell",
        "swift",
        "micropython",
        "racket",
        "bpython",
        "raku",
    ],
    unwrap,
};

fn language(program: &str) -> Language {
    match program {
        "node" | "nodejs" | "deno" | "bun" | "tsx" | "ts-node" => Language::JavaScript,
        "perl" | "perl5" | "raku" => Language::Perl,
        "ruby" | "jruby" | "irb" => Language::Ruby,
        "php" => Language::Php,
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => Language::Awk,
        "osascript" => Language::AppleScript,
        name if name.starts_with("py") || name.ends_with("python") || name == "micropython" => {
            Language::Python
        }
        _ => Language::Other,
    }
}

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    let language = language(call.program);
    inners.opaque = language != Language::Awk;
    if language == Language::Awk {
        awk(call, inners);
        return;
    }
    if matches!(call.program, "deno" | "bun") && matches!(call.operand(0), "eval" | "x") {
        subcommand(call, language, inners);
        return;
    }
    if call.program == "expect" {
        let code = call
            .option(&["-c"])
            .or_else(|| call.stdin.text.as_ref().map(|text| Arg::new(text.as_str(), call.span)));
        if let Some(code) = code {
            expect_script(&code, inners);
        }
        return;
    }
    let Some(Options { at, found }) = options(call, language, inners) else { return };
    if found || call.asks_help() || call.flag_word("-v") || call.flag_word("-V") {
        return;
    }
    match call.args.get(at) {
        Some(file) => {
            let rest = call.args.get(at + 1..).unwrap_or_default().to_vec();
            inners.list.push(Inner::File(language, file.clone(), rest));
        }
        None => inners.list.push(Inner::Stdin(language, Vec::new())),
    }
}

/// `deno eval CODE`, `bun x PROGRAM`.
fn subcommand(call: &Call<'_>, language: Language, inners: &mut Inners) {
    if call.operand(0) == "x" {
        let rest: Vec<Arg> = call.operands().skip(1).cloned().collect();
        inners.list.push(Inner::Argv(rest));
    } else if let Some(code) = call.operands().nth(1) {
        inners.list.push(Inner::Code(language, code.clone()));
    }
}

/// Where the options ended, and whether one of them held code.
struct Options {
    at: usize,
    found: bool,
}

/// Reads the options; `None` when one of them says that no file follows.
fn options(call: &Call<'_>, language: Language, inners: &mut Inners) -> Option<Options> {
    let mut at = 0;
    let mut found = false;
    while let Some(arg) = call.args.get(at) {
        let text = arg.text.as_str();
        if text == "--" {
            at += 1;
            break;
        }
        if let Some(code) = text.strip_prefix("--eval=").or_else(|| text.strip_prefix("--print=")) {
            inners.list.push(Inner::Code(language, Arg { text: code.to_owned(), ..arg.clone() }));
            found = true;
        } else if matches!(text, "--eval" | "--print" | "--execute" | "--run") {
            push_code(language, call.args.get(at + 1), inners);
            found = true;
            at += 1;
        } else if text == "-m" && language == Language::Python {
            return None;
        } else if matches!(text, "-" | "/dev/stdin") {
            inners.list.push(Inner::Stdin(language, Vec::new()));
            return None;
        } else if let Some(flags) =
            text.strip_prefix('-').filter(|flags| !flags.is_empty() && !flags.starts_with('-'))
        {
            match code_in_flags(flags, language) {
                Some("") => {
                    push_code(language, call.args.get(at + 1), inners);
                    found = true;
                    at += 1;
                }
                Some(code) => {
                    let code = Arg { text: code.to_owned(), ..arg.clone() };
                    inners.list.push(Inner::Code(language, code));
                    found = true;
                }
                None => {}
            }
        } else if !text.starts_with('-') {
            break;
        }
        at += 1;
    }
    Some(Options { at, found })
}

/// The code behind a letter that announces some; empty when it is the next argument.
fn code_in_flags(flags: &str, language: Language) -> Option<&str> {
    let library =
        flags.starts_with(['I', 'M', 'm', 'r', 'W', 'x'].as_slice()) && language != Language::Php;
    if library {
        return None;
    }
    let position = flags.find(code_letters(language))?;
    let tail = flags.get(position + 1..).unwrap_or_default();
    let more_flags = matches!(language, Language::Perl | Language::Ruby)
        && tail.len() < 4
        && tail.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some(if more_flags { "" } else { tail })
}

/// Letters of options whose value is code.
fn code_letters(language: Language) -> &'static [char] {
    match language {
        Language::Python => &['c'],
        Language::Perl => &['e', 'E'],
        Language::Php => &['r', 'B', 'R', 'E'],
        Language::JavaScript => &['e', 'p'],
        Language::Other => &['e', 'c'],
        Language::Ruby
        | Language::AppleScript
        | Language::Shell
        | Language::Awk
        | Language::PowerShell => &['e'],
    }
}

/// `spawn` in an `expect` script starts a program.
fn expect_script(code: &Arg, inners: &mut Inners) {
    for piece in code.text.split([';', '\n']) {
        if let Some(command) = piece.trim_start().strip_prefix("spawn ") {
            inners
                .list
                .push(Inner::Shell(Arg { text: command.to_owned(), ..code.clone() }, Vec::new()));
        }
    }
}

fn push_code(language: Language, code: Option<&Arg>, inners: &mut Inners) {
    if let Some(code) = code {
        inners.list.push(Inner::Code(language, code.clone()));
    }
}

fn awk(call: &Call<'_>, inners: &mut Inners) {
    let mut at = 0;
    let mut found = false;
    while let Some(arg) = call.args.get(at) {
        match arg.text.as_str() {
            "-e" | "--source" => {
                push_code(Language::Awk, call.args.get(at + 1), inners);
                found = true;
                at += 2;
            }
            "-F" | "-v" | "--assign" | "--field-separator" | "-i" | "--include" => at += 2,
            "-f" | "--file" => {
                if let Some(file) = call.args.get(at + 1) {
                    inners.list.push(Inner::File(Language::Awk, file.clone(), Vec::new()));
                }
                found = true;
                at += 2;
            }
            "--" => {
                at += 1;
                break;
            }
            text if text.starts_with('-') && text.len() > 1 => at += 1,
            _ => break,
        }
    }
    if !found {
        push_code(Language::Awk, call.args.get(at), inners);
    }
}
