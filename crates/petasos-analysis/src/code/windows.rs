//! PowerShell and `cmd` text: statements cut at separators, words at blanks.

use super::shells::statements;
use crate::flow::engine::Engine;
use crate::flow::value::{Arg, Taint};
use crate::rule::Signal;

/// Parts of a text that fetch something, and parts that run what they are given.
const FETCHES: &str = "downloadstring,invoke-webrequest,iwr ,downloadfile,invoke-restmethod,irm ,net.webclient,\
    curl ,wget ";
const RUNS: &str = "iex,invoke-expression,start-process,| powershell,scriptblock]::create,; ./,; .\\,; & ,\
    ;& ,;./,;.\\";

/// Looks at every statement as a command.
pub(super) fn run(engine: &mut Engine<'_>, code: &Arg) {
    let lower = code.text.to_ascii_lowercase();
    let runs = || RUNS.split(',').any(|word| lower.contains(word));
    if FETCHES.split(',').any(|word| lower.contains(word)) && runs() {
        engine.report.signal(Signal::RemoteCode, code.span, code.text.clone());
    }
    if lower.contains("frombase64string") && runs() {
        engine.report.signal(Signal::DecodedCode, code.span, code.text.clone());
    }
    // Methods of the system's classes are read as any code.
    if code.text.contains("]::") || lower.contains("$_.delete(") {
        let text = code
            .text
            .replace("]::", ".")
            .replace(['[', '$'], "")
            .replace("_.Delete(", "Directory.Delete(");
        engine.run_program_text(super::Language::Other, &code.with_text(text));
    }
    let home = engine.home();
    let mut listed = None;
    // Carets hide nothing, and what was set is filled in.
    let mut text = code.text.replace('^', "");
    let set: Vec<String> = lower.split("set ").skip(1).take(8).map(str::to_owned).collect();
    for (name, rest) in set.iter().filter_map(|rest| rest.split_once('=')) {
        let value = rest.split(['&', '\n', '"']).next().unwrap_or_default();
        text = text.replace(&format!("%{}%", name.trim_matches(['"', '/', 'a', ' '])), value);
    }
    for statement in statements(&text, true) {
        let mut argv: Vec<Arg> =
            statement.into_iter().map(|word| Arg::new(at_home(word, &home), code.span)).collect();
        if argv.is_empty() || argv.iter().any(|arg| arg.text.eq_ignore_ascii_case("-whatif")) {
            continue;
        }
        // `Get-ChildItem x | Remove-Item`: what was listed is what goes.
        let program = argv.first().map(|arg| arg.text.to_ascii_lowercase()).unwrap_or_default();
        let place = argv.iter().skip(1).rfind(|arg| !arg.text.starts_with('-'));
        let place = place.map(|arg| arg.text.clone());
        let item = place.as_deref().is_none_or(|place| place.starts_with("$_"));
        match program.as_str() {
            "get-childitem" | "gci" | "dir" | "ls" => {
                let place = place.unwrap_or_else(|| ".".to_owned());
                listed = Some(format!("{}/*", place.trim_end_matches('/')));
            }
            "remove-item" | "ri" | "rm" | "del" if item => {
                argv.retain(|arg| !arg.text.starts_with("$_"));
                let all = listed.take().map(|text| Arg::of(text, code.span, Taint::LISTING));
                argv.extend(all.map(|arg| Arg { glob: true, ..arg }));
            }
            "foreach-object" | "foreach" | "%" | "where-object" | "where" | "?"
            | "select-object" | "sort-object" => {}
            _ => listed = None,
        }
        engine.dispatch(&argv, code.span, &[]);
    }
}

/// A word with the names of the home directory replaced by it.
fn at_home(word: String, home: &str) -> String {
    const NAMES: [&str; 5] = ["$env:userprofile", "$env:home", "%userprofile%", "$home", "${home}"];
    let lower = word.to_ascii_lowercase();
    if lower == "$profile" {
        return format!("{home}/.config/powershell/profile.ps1");
    }
    let tail = NAMES.iter().find_map(|name| {
        lower.strip_prefix(name).and_then(|_| word.get(name.len()..)).map(str::to_owned)
    });
    match tail {
        Some(tail) => format!("{home}{tail}"),
        None => word,
    }
}
