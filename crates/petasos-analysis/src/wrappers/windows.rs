//! `cmd /c` and PowerShell, from a Unix shell or beside it.

use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::decode;
use crate::flow::value::{Arg, Taint};
use crate::words::lists;
use crate::wrapper::{Inner, Inners, Wrapper};

pub(super) static WRAPPER: Wrapper =
    Wrapper { names: "cmd powershell pwsh iex invoke-expression start-process", rows: &[], unwrap };

/// Options of PowerShell with a value; each may be cut short.
const VALUES: &str = "-windowstyle -executionpolicy -version -inputformat -outputformat -workingdirectory \
    -configurationname";

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    if call.program == "cmd" {
        let at = call.args.iter().position(|arg| {
            matches!(arg.text.to_ascii_lowercase().as_str(), "/c" | "/k" | "//c" | "/r")
        });
        if let Some(at) = at {
            let words: Vec<&str> =
                call.args.iter().skip(at + 1).map(|arg| arg.text.as_str()).collect();
            inners
                .list
                .push(Inner::Code(Language::PowerShell, Arg::new(words.join(" "), call.span)));
        }
        return;
    }
    let mut rest = call.args.iter();
    while let Some(arg) = rest.next() {
        let lower = arg.text.to_ascii_lowercase();
        if lower == "-ec" || lower.len() > 1 && "-encodedcommand".starts_with(&lower) {
            let text = rest.next().map(|arg| arg.text.clone()).unwrap_or_default();
            let plain = decode::base64(&text).unwrap_or_default();
            inners
                .list
                .push(Inner::Code(Language::PowerShell, Arg::of(plain, arg.span, Taint::DECODED)));
            return;
        }
        let takes_value = lower.len() > 1
            && VALUES.split_ascii_whitespace().any(|option| option.starts_with(&lower))
            || lists("-ep -exec -wd", &lower);
        if takes_value && lower != "-c" {
            rest.next();
            continue;
        }
        if lower.len() > 1 && "-command".starts_with(&lower) || !lower.starts_with('-') {
            let mut words: Vec<&str> = rest.map(|arg| arg.text.as_str()).collect();
            if !lower.starts_with('-') {
                words.insert(0, &arg.text);
            }
            inners.list.push(match words.as_slice() {
                ["-"] => Inner::Stdin(Language::PowerShell, Vec::new()),
                words => Inner::Code(Language::PowerShell, arg.with_text(words.join(" "))),
            });
            return;
        }
    }
    inners.list.push(Inner::Stdin(Language::PowerShell, Vec::new()));
}
