//! Copies and moves: what is read, what is written here or on another machine, and
//! what is gone afterwards.

use super::{Found, ONE, each, push};
use crate::flow::call::Call;
use crate::flow::report::Deed;
use crate::flow::value::Arg;

/// Whether an operand names a place on another machine.
pub(super) fn is_remote(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(host, _)| !host.is_empty() && !host.contains('/') && !host.starts_with('.'))
        || text.contains(':') && text.contains("://")
}

/// The place on the other machine; a relative one starts at the home there.
fn place(destination: &Arg) -> Option<Arg> {
    let (_, path) = destination.text.split_once(':')?;
    let text = match path {
        path if path.starts_with(['/', '~']) => path.to_owned(),
        path => format!("~/{path}"),
    };
    Some(destination.with_text(text))
}

pub(super) fn synchronise(call: &Call<'_>, found: &mut Vec<Found>) {
    let operands = call.files();
    let Some((destination, sources)) = operands.split_last() else { return };
    found.extend(each(Deed::Read, sources.iter().copied()));
    if sources.is_empty() {
        return;
    }
    let remote = is_remote(&destination.text);
    let path = if remote { place(destination) } else { None };
    let path = path.unwrap_or_else(|| (*destination).clone());
    if call.options().any(|arg| arg.text.starts_with("--del")) {
        push(found, Deed::SWEEP, &path);
    }
    if call.long("--remove-source-files") {
        found.extend(each(Deed::TREE, sources.iter().copied()));
    }
    push(found, Deed::Write, &path);
    into_directory(&path, sources, call, found);
}

/// `robocopy /MIR` and `/PURGE` take away what the source does not have.
pub(super) fn mirror(call: &Call<'_>, found: &mut Vec<Found>) {
    let deletes = call.args.iter().any(|arg| {
        arg.text.eq_ignore_ascii_case("/mir") || arg.text.eq_ignore_ascii_case("/purge")
    });
    found.extend(each(Deed::SWEEP, call.operands().nth(1).filter(|_| deletes)));
}

/// Files keep their names in a directory, and some names mean something in a home.
fn into_directory(place: &Arg, sources: &[&Arg], call: &Call<'_>, found: &mut Vec<Found>) {
    let resolved = crate::path::resolve(&place.text, call.cwd, &call.facts.home);
    let home = crate::path::is_home(&resolved, call.facts);
    let is_directory =
        home || place.text.ends_with('/') || place.is(".") || place.text.ends_with("/.");
    // Where the directory says it all, the names in it add nothing.
    if !is_directory || crate::path::target(&resolved, call.facts) != crate::path::Target::Ordinary
    {
        return;
    }
    // A directory given with a slash is copied without its name.
    for source in sources.iter().filter(|source| !source.text.ends_with('/')) {
        let whole = call.long("--parents") || call.flag_word("-R") && call.program == "rsync";
        let last = source.text.rsplit(['/', ':']).next().unwrap_or_default();
        let name = if whole { source.text.as_str() } else { last };
        // Right in a home only these mean anything.
        if home && !name.starts_with('.') && name != "Library" {
            continue;
        }
        let text = format!("{}/{name}", place.text.trim_end_matches('/'));
        push(found, Deed::Write, &place.with_text(text));
    }
}

/// `install -d` makes directories; everything else copies all operands but the last.
pub(super) fn copy(call: &Call<'_>, found: &mut Vec<Found>) {
    let operands = call.files();
    if matches!(call.program, "install" | "ginstall") && call.flag_word("-d") {
        found.extend(each(Deed::Write, operands));
        return;
    }
    let named = call
        .option(&["-t", "--target-directory"])
        .filter(|_| !matches!(call.program, "scp" | "ditto" | "pax"));
    let (destination, sources) = match (&named, operands.split_last()) {
        (Some(named), _) => (named.clone(), operands.as_slice()),
        (None, Some((last, rest))) => ((*last).clone(), rest),
        (None, None) => return,
    };
    if sources.is_empty() {
        return;
    }
    let remote = call.program == "scp" && is_remote(&destination.text);
    let mut target = if remote { place(&destination) } else { None }.unwrap_or(destination);
    push(found, Deed::Write, &target);
    if named.is_some() && !target.text.ends_with('/') {
        target.text.push('/');
    }
    into_directory(&target, sources, call, found);
    for source in sources {
        match call.program {
            "mv" | "gmv" => moved(source, &target, call, found),
            "ln" => {}
            _ => push(found, Deed::Read, source),
        }
    }
}

/// `docker cp a c:/b` and its like: the place is in a container, a pod or a device.
pub(super) fn into_container(call: &Call<'_>, found: &mut Vec<Found>) {
    let operands: Vec<&Arg> = call.operands().collect();
    let words: Vec<&str> = operands.iter().take(3).map(|arg| arg.text.as_str()).collect();
    let skip = match (call.program, words.as_slice()) {
        ("adb", ["push", ..]) | (_, ["cp" | "transfer" | "rsync", ..]) => 1,
        (
            _,
            ["container" | "compose", "cp", ..] | ["file", "push", ..] | ["compute", "scp", ..],
        ) => 2,
        _ => return,
    };
    let Some((destination, sources @ [_, ..])) = operands.get(skip..).and_then(<[_]>::split_last)
    else {
        return;
    };
    found.extend(each(Deed::Read, sources.iter().copied()));
    let path = match call.program {
        "adb" => Some((*destination).clone()),
        // The name of the container is the first part of the path.
        "lxc" | "incus" => destination
            .text
            .split_once('/')
            .map(|(_, path)| Arg { text: format!("/{path}"), ..(*destination).clone() }),
        "gcloud" => place(destination),
        _ => destination
            .text
            .split_once(':')
            .map(|(_, path)| Arg { text: path.to_owned(), ..(*destination).clone() }),
    };
    match path {
        Some(path) => push(found, Deed::Write, &path),
        None => push(found, Deed::Write, destination),
    }
}

/// A moved path is gone from where it was.
fn moved(source: &Arg, destination: &Arg, call: &Call<'_>, found: &mut Vec<Found>) {
    let away = destination.is("/dev/null");
    let vital = crate::path::is_vital(source.text.trim_end_matches('/'), call.facts)
        && source.text.starts_with('/')
        || source.is("/");
    push(found, if away || vital { Deed::TREE } else { ONE }, source);
}
