//! Shells and those who start one: `bash -c`, `sh file`, `su -c`, `script -c`.

use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::words::lists;
use crate::wrapper::{Inner, Inners, Wrapper};

pub(super) static WRAPPER: Wrapper = Wrapper {
    names: "bash sh zsh dash ksh ash fish mksh rbash csh tcsh yash posh oksh ksh93 elvish nu hush rc \
        osh ysh xonsh",
    rows: &[],
    unwrap,
};

/// Those that are not read like the others.
const OTHERS: &str = "fish csh tcsh elvish nu rc xonsh";

/// Shell options whose value is the next argument.
const VALUES: &str = "--rcfile --init-file -O +O -o +o -C --init-command";

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    inners.opaque = true;
    let mut at = 0;
    let mut code_next = false;
    let mut from_stdin = false;
    while let Some(arg) = call.args.get(at) {
        let text = arg.text.as_str();
        if text == "--" {
            at += 1;
            break;
        }
        if matches!(text, "--rcfile" | "--init-file")
            && let Some(file) = call.args.get(at + 1)
        {
            inners.list.push(Inner::File(Language::Shell, file.clone(), Vec::new()));
        }
        if matches!(text, "-C" | "--init-command")
            && let Some(code) = call.args.get(at + 1).filter(|_| call.program == "fish")
        {
            inners.list.push(Inner::Code(Language::OtherShell, code.clone()));
        }
        if text == "--command" || text == "-c" && call.program == "fish" {
            code_next = true;
        } else if let Some(flags) =
            text.strip_prefix('-').filter(|flags| !flags.is_empty() && !flags.starts_with('-'))
        {
            code_next |= flags.contains('c');
            from_stdin |= flags.contains('s');
        } else if !(text.starts_with("--") || text.starts_with('+') && text.len() > 1) {
            break;
        }
        at += if lists(VALUES, text) { 2 } else { 1 };
    }
    let rest = call.args.get(at..).unwrap_or_default();
    let other = lists(OTHERS, call.program);
    let language = if other { Language::OtherShell } else { Language::Shell };
    if code_next {
        if let Some((code, args)) = rest.split_first() {
            // The first argument after the code is `$0`.
            let mut code = code.clone();
            // What zsh says about the files of a pattern takes none of them out.
            for sign in ["(D)", "(N)", "(DN)", "(ND)", "(.)", "(/)"] {
                if call.program == "zsh" && code.text.contains(sign) {
                    code.text = code.text.replace(sign, "");
                }
            }
            if let Some(zero) = args.first().filter(|_| code.text.contains("$0")) {
                code.text = code.text.replace("$0", &zero.text);
            }
            let args: Vec<Arg> = args.iter().skip(1).cloned().collect();
            inners.list.push(if other {
                Inner::Code(Language::OtherShell, code)
            } else {
                Inner::Shell(code, args)
            });
        }
    } else if let Some((file, args)) = rest.split_first().filter(|_| !from_stdin) {
        inners.list.push(Inner::File(language, file.clone(), args.to_vec()));
    } else if !call.asks_help() {
        inners.list.push(Inner::Stdin(language, rest.to_vec()));
    }
}
