//! Commands that `git` runs: aliases given on the line, `bisect run`,
//! `rebase --exec`, `submodule foreach`, filters and helpers.

use super::{Inner, Inners, Wrapper};
use crate::flow::call::Call;
use crate::flow::value::Arg;

pub(super) static WRAPPER: Wrapper = Wrapper { names: &["git", "hub"], unwrap };

/// Settings whose value is run.
fn runs(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    matches!(
        key.as_str(),
        "core.pager"
            | "core.editor"
            | "core.sshcommand"
            | "core.fsmonitor"
            | "core.askpass"
            | "sequence.editor"
            | "diff.external"
            | "credential.helper"
            | "core.gitproxy"
            | "gpg.program"
            | "core.hookspath"
    ) || key.starts_with("alias.")
        || key.starts_with("pager.")
        || key.starts_with("filter.")
        || key.ends_with(".textconv")
        || key.ends_with(".cmd")
        || key.ends_with(".command")
}

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    let mut rest = call.args.iter().peekable();
    let mut aliases: Vec<(String, Arg)> = Vec::new();
    while let Some(arg) = rest.next_if(|arg| arg.text.starts_with('-')) {
        if matches!(arg.text.as_str(), "-c" | "--config-env")
            && let Some(setting) = rest.next()
        {
            if let Some((key, value)) = setting.text.split_once('=')
                && runs(key)
            {
                let value = Arg { text: value.to_owned(), ..setting.clone() };
                if let Some(name) = key.strip_prefix("alias.") {
                    aliases.push((name.to_owned(), value));
                } else {
                    push(&value, inners);
                }
            }
        } else if matches!(
            arg.text.as_str(),
            "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
        ) {
            rest.next();
        }
    }
    let Some(verb) = rest.next() else { return };
    let tail: Vec<Arg> = rest.cloned().collect();
    if let Some((_, value)) = aliases.into_iter().find(|(name, _)| verb.is(name)) {
        alias(&value, &tail, inners);
        return;
    }
    match verb.text.as_str() {
        "bisect" if tail.first().is_some_and(|arg| arg.is("run")) => {
            inners.list.push(Inner::Argv(tail.get(1..).unwrap_or_default().to_vec()));
        }
        "submodule" => for_each_submodule(call, &tail, inners),
        "rebase" => option(&tail, &["-x", "--exec"], inners),
        "grep" => option(&tail, &["-O", "--open-files-in-pager"], inners),
        "filter-branch" => {
            for name in [
                "--tree-filter",
                "--index-filter",
                "--msg-filter",
                "--env-filter",
                "--commit-filter",
                "--tag-name-filter",
            ] {
                option(&tail, &[name], inners);
            }
        }
        "difftool" | "mergetool" => option(&tail, &["-x", "--extcmd"], inners),
        "clone" | "fetch" | "pull" | "ls-remote" | "push" => remote(&tail, inners),
        "config" => {
            let words: Vec<&Arg> = tail.iter().filter(|arg| !arg.text.starts_with('-')).collect();
            if let [key, value, ..] = words.as_slice()
                && runs(&key.text)
            {
                alias_value(key, value, inners);
            }
        }
        _ => {}
    }
}

/// `submodule foreach` joins its words to a command of the shell.
fn for_each_submodule(call: &Call<'_>, tail: &[Arg], inners: &mut Inners) {
    if let Some(at) = tail.iter().position(|arg| arg.is("foreach")) {
        let words: Vec<&str> = tail
            .iter()
            .skip(at + 1)
            .filter(|arg| !arg.is("--recursive") && !arg.is("-q"))
            .map(|arg| arg.text.as_str())
            .collect();
        inners.list.push(Inner::Shell(Arg::new(words.join(" "), call.span), Vec::new()));
    }
}

/// Programs run on either end of a connection.
fn remote(tail: &[Arg], inners: &mut Inners) {
    option(tail, &["--upload-pack", "-u", "--receive-pack", "--exec"], inners);
    for arg in tail.iter().filter_map(|arg| arg.text.strip_prefix("ext::").map(|text| (arg, text)))
    {
        push(&Arg { text: arg.1.to_owned(), ..arg.0.clone() }, inners);
    }
}

fn option(tail: &[Arg], names: &[&str], inners: &mut Inners) {
    let mut rest = tail.iter();
    while let Some(arg) = rest.next() {
        for name in names {
            if arg.is(name)
                && let Some(code) = rest.next()
            {
                push(code, inners);
                break;
            }
            if let Some(code) = arg.text.strip_prefix(name).and_then(|text| text.strip_prefix('='))
            {
                push(&Arg { text: code.to_owned(), ..arg.clone() }, inners);
            }
        }
    }
}

fn push(code: &Arg, inners: &mut Inners) {
    let text = code.text.strip_prefix('!').unwrap_or(&code.text).to_owned();
    inners.list.push(Inner::Shell(Arg { text, ..code.clone() }, Vec::new()));
}

/// An alias that is defined and used on one line.
fn alias(value: &Arg, tail: &[Arg], inners: &mut Inners) {
    let words: Vec<&str> = tail.iter().map(|arg| arg.text.as_str()).collect();
    let text = match value.text.strip_prefix('!') {
        Some(code) => format!("{code} {}", words.join(" ")),
        None => format!("git {} {}", value.text, words.join(" ")),
    };
    inners.list.push(Inner::Shell(Arg { text, ..value.clone() }, Vec::new()));
}

fn alias_value(key: &Arg, value: &Arg, inners: &mut Inners) {
    match key.text.strip_prefix("alias.") {
        Some(_) => alias(value, &[], inners),
        None if value.text.contains(' ') => push(value, inners),
        None => {}
    }
}
