//! Commands that `git` runs: aliases given on the line, `bisect run`,
//! `rebase --exec`, `submodule foreach`, filters and helpers.

use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::shell::normalise::UNKNOWN;
use crate::words::{ends, lists};
use crate::wrapper::{Inners, Wrapper};

pub(super) static WRAPPER: Wrapper = Wrapper { names: "git hub", rows: &[], unwrap };

/// Settings whose value is run.
fn runs(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    lists(
        "core.pager core.editor core.sshcommand core.fsmonitor core.askpass \
                sequence.editor diff.external credential.helper core.gitproxy gpg.program \
                core.hookspath",
        &key,
    ) || key.starts_with("alias.")
        || key.starts_with("pager.")
        || key.starts_with("filter.")
        || ends(".textconv .cmd .command .driver hook .program", &key)
}

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    let mut rest = call.args.iter().peekable();
    let mut aliases: Vec<(String, Arg)> = Vec::new();
    let mut place = None;
    while let Some(arg) = rest.next_if(|arg| arg.text.starts_with('-')) {
        if matches!(arg.text.as_str(), "-c" | "--config-env")
            && let Some(setting) = rest.next()
        {
            if let Some((key, value)) = setting.text.split_once('=')
                && runs(key)
            {
                let value = setting.with_text(value);
                if let Some(name) = key.strip_prefix("alias.") {
                    aliases.push((name.to_owned(), value));
                } else {
                    push(&value, inners);
                }
            }
        } else if lists("-C --git-dir --work-tree --namespace --exec-path", &arg.text) {
            let value = rest.next();
            place = value.filter(|_| lists("-C --work-tree", &arg.text)).cloned().or(place);
        } else if let Some(path) = arg.text.strip_prefix("--work-tree=") {
            place = Some(arg.with_text(path));
        }
    }
    let Some(verb) = rest.next() else { return };
    let tail: Vec<Arg> = rest.cloned().collect();
    if let Some((_, value)) = aliases.into_iter().find(|(name, _)| verb.is(name)) {
        alias(&value, &tail, inners);
        return;
    }
    let behind = Call { args: &tail, ..*call };
    let row = OPTIONS.iter().find(|(verbs, _)| lists(verbs, &verb.text));
    let names: Vec<&str> =
        row.map(|row| row.1.split_ascii_whitespace().collect()).unwrap_or_default();
    for code in behind.values(&names) {
        // What is run on files is given their names.
        let on_files = lists("grep difftool mergetool", &verb.text);
        let text = if on_files { format!("{} {UNKNOWN}", code.text) } else { code.text.clone() };
        push(&code.with_text(text), inners);
    }
    match verb.text.as_str() {
        "bisect" if tail.first().is_some_and(|arg| arg.is("run")) => {
            inners.argv(tail.get(1..).unwrap_or_default());
        }
        // What is cleaned is what lies there.
        "clean" if behind.flag('f') && behind.flag('d') && !behind.flag('n') => {
            if let Some(place) = place.map(|it| it.with_text(format!("{}/*", it.text))) {
                let words = ["rm", "-rf"].map(|word| verb.with_text(word));
                inners.argv([words.as_slice(), &[place]].concat());
            }
        }
        "submodule" => for_each_submodule(call, &tail, inners),
        "clone" | "fetch" | "pull" | "ls-remote" | "push" => remote(&behind, inners),
        "config" => {
            if let [key, value, ..] = behind.operands().collect::<Vec<_>>().as_slice()
                && runs(&key.text)
            {
                alias_value(key, value, inners);
            }
        }
        _ => {}
    }
}

/// Options whose value is a command, by verb.
const OPTIONS: &[(&str, &str)] = &[
    ("rebase", "-x --exec"),
    ("grep", "-O --open-files-in-pager"),
    (
        "filter-branch",
        "--tree-filter --index-filter --msg-filter --env-filter --commit-filter --tag-name-filter",
    ),
    ("difftool mergetool", "-x --extcmd"),
    ("archive", "--exec"),
    ("send-email", "--sendmail-cmd --to-cmd --cc-cmd"),
    ("clone fetch pull ls-remote push", "--upload-pack -u --receive-pack --exec"),
];

/// `submodule foreach` joins its words to a command of the shell.
fn for_each_submodule(call: &Call<'_>, tail: &[Arg], inners: &mut Inners) {
    if let Some(at) = tail.iter().position(|arg| arg.is("foreach")) {
        let words: Vec<&str> = tail
            .iter()
            .skip(at + 1)
            .filter(|arg| !arg.is("--recursive") && !arg.is("-q"))
            .map(|arg| arg.text.as_str())
            .collect();
        inners.shell(Arg::new(words.join(" "), call.span));
    }
}

/// Programs run on either end of a connection, and settings that `clone` takes behind the verb.
fn remote(tail: &Call<'_>, inners: &mut Inners) {
    for setting in tail.values(&["-c", "--config"]) {
        if let Some((_, value)) = setting.text.split_once('=').filter(|(key, _)| runs(key)) {
            push(&setting.with_text(value), inners);
        }
    }
    for arg in tail.args {
        if let Some(command) = arg.text.strip_prefix("ext::") {
            inners.argv(external(command, arg));
        }
    }
}

/// The words of an `ext::` address, in which `% ` is a space inside a word.
fn external(command: &str, arg: &Arg) -> Vec<Arg> {
    let joined = command.replace("% ", "\u{1}");
    joined.split_whitespace().map(|word| arg.with_text(word.replace('\u{1}', " "))).collect()
}

fn push(code: &Arg, inners: &mut Inners) {
    let text = code.text.strip_prefix('!').unwrap_or(&code.text).to_owned();
    inners.shell(code.with_text(text));
}

/// An alias that is defined and used on one line.
fn alias(value: &Arg, tail: &[Arg], inners: &mut Inners) {
    let words: Vec<&str> = tail.iter().map(|arg| arg.text.as_str()).collect();
    let text = match value.text.strip_prefix('!') {
        Some(code) => format!("{code} {}", words.join(" ")),
        None => format!("git {} {}", value.text, words.join(" ")),
    };
    inners.shell(value.with_text(text));
}

fn alias_value(key: &Arg, value: &Arg, inners: &mut Inners) {
    match key.text.strip_prefix("alias.") {
        Some(_) => alias(value, &[], inners),
        None if value.text.contains(' ') => push(value, inners),
        None => {}
    }
}
