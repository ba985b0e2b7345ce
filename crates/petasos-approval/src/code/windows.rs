//! PowerShell and `cmd` text: statements cut at separators, words at blanks.

use crate::flow::engine::Engine;
use crate::flow::value::Arg;
use crate::rules::Signal;

/// Looks at every statement as a command.
pub(super) fn run(engine: &mut Engine<'_>, code: &Arg) {
    let lower = code.text.to_ascii_lowercase();
    let fetches = [
        "downloadstring",
        "invoke-webrequest",
        "iwr ",
        "downloadfile",
        "invoke-restmethod",
        "irm ",
        "net.webclient",
        "curl ",
        "wget ",
    ];
    let runs =
        ["iex", "invoke-expression", "start-process", "| powershell", "scriptblock]::create"];
    if fetches.iter().any(|word| lower.contains(word))
        && runs.iter().any(|word| lower.contains(word))
    {
        engine.report.signal(Signal::RemoteCode, code.span, code.text.clone());
    }
    if lower.contains("frombase64string") && runs.iter().any(|word| lower.contains(word)) {
        engine.report.signal(Signal::DecodedCode, code.span, code.text.clone());
    }
    for statement in statements(&code.text).into_iter().take(256) {
        let argv: Vec<Arg> =
            words(&statement).into_iter().map(|word| Arg::new(word, code.span)).collect();
        if !argv.is_empty() {
            engine.dispatch(&argv, code.span, &[]);
        }
    }
}

fn statements(text: &str) -> Vec<String> {
    let mut output = vec![String::new()];
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, ';' | '|' | '&' | '\n' | '{' | '}') => {
                output.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = output.last_mut() {
            last.push(letter);
        }
    }
    output
}

fn words(statement: &str) -> Vec<String> {
    let mut output = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    for letter in statement.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, ' ' | '\t' | '(' | ')' | ',') => {
                if !word.is_empty() {
                    output.push(std::mem::take(&mut word));
                }
            }
            _ => word.push(letter),
        }
    }
    if !word.is_empty() {
        output.push(word);
    }
    output
}
