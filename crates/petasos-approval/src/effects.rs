//! What well-known programs do to the paths and hosts in their arguments.

use crate::flow::call::Call;
use crate::flow::report::Deed;
use crate::flow::value::{Arg, Taint};
use crate::wrappers;

/// A path in an argument and what is done to it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) deed: Deed,
    pub(crate) path: Arg,
}

const TREE: Deed = Deed::Delete { recursive: true, bulk: false, narrowed: false };
const ONE: Deed = Deed::Delete { recursive: false, bulk: false, narrowed: false };

/// The paths `call` touches.
pub(crate) fn of(call: &Call<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    match call.program {
        "rm" | "grm" | "unlink" | "srm" | "rimraf" | "del-cli" | "shred" | "wipe" | "scrub"
        | "remove_directory" | "remove" | "trash-rm" | "rmrf" => delete(call, &mut found),
        "remove-item" | "ri" | "rd" | "del" | "erase" => windows_delete(call, &mut found),
        "rmdir" => {
            for operand in call.operands() {
                push(&mut found, ONE, operand);
            }
        }
        "find" | "gfind" => search(call, &mut found),
        "rsync" => synchronise(call, &mut found),
        "cp" | "gcp" | "install" | "ginstall" | "mv" | "gmv" | "ln" | "scp" | "ditto"
        | "rename" | "copy" | "pax" => copy(call, &mut found),
        "tee" | "sponge" | "truncate" | "touch" | "vipw" | "sudoedit" | "ed" | "ex" => {
            for operand in call.operands() {
                push(&mut found, Deed::Write, operand);
            }
        }
        "nano" | "vim" | "vi" | "nvim" | "emacs" => {
            for operand in call
                .operands()
                .filter(|_| call.elevated || call.stdin.text.is_some() || call.flag('c'))
            {
                push(&mut found, Deed::Write, operand);
            }
        }
        "sudo"
            if call
                .args
                .iter()
                .take_while(|arg| arg.text.starts_with('-'))
                .any(|arg| arg.is("-e") || arg.is("--edit")) =>
        {
            for operand in call.operands() {
                push(&mut found, Deed::Write, operand);
            }
        }
        "dd" | "dcfldd" | "dc3dd" | "ddrescue" => disk_dump(call, &mut found),
        "sed" | "gsed" => stream_edit(call, &mut found),
        "perl" | "ruby" if in_place(call) => {
            for operand in call.operands() {
                push(&mut found, Deed::Write, operand);
            }
        }
        "awk" | "gawk" => awk(call, &mut found),
        "curl" | "wget" | "aria2c" | "openssl" | "gpg" | "age" | "jq" | "yq" | "sort" | "gcc"
        | "patch" | "crontab" | "ssh-keygen" => outputs(call, &mut found),
        "tar" | "bsdtar" | "gtar" | "unzip" | "zip" | "7z" | "cpio" => archive(call, &mut found),
        "cat" | "head" | "tail" | "less" | "more" | "bat" | "batcat" | "strings" | "xxd" | "od"
        | "hexdump" | "base64" | "base32" | "nl" | "tac" | "rev" | "cut" | "view" | "grep"
        | "egrep" | "rg" | "fgrep" | "diff" | "fold" | "paste" | "column" | "pbcopy" | "xclip"
        | "uuencode" | "gzip" | "most" | "zcat" | "ag" | "sdiff" | "comm" | "split" | "type"
        | "get-content" | "gc" | "source" => {
            for operand in call.operands() {
                push(&mut found, Deed::Read, operand);
            }
        }
        "git" if call.operand(0) == "clone" => {
            if let Some(place) = call.operands().nth(2) {
                push(&mut found, Deed::Write, place);
            }
        }
        _ => {}
    }
    found
}

fn push(found: &mut Vec<Found>, deed: Deed, path: &Arg) {
    if !path.text.is_empty() && !path.is("-") {
        found.push(Found { deed, path: path.clone() });
    }
}

fn delete(call: &Call<'_>, found: &mut Vec<Found>) {
    let always = matches!(call.program, "rimraf" | "del-cli" | "remove_directory" | "rmrf");
    let recursive = always || call.flag('r') || call.flag('R') || call.long("--recursive");
    let deed = Deed::Delete { recursive, bulk: call.bulk, narrowed: call.narrowed };
    if call.program == "shred" && !call.flag('u') && !call.long("--remove") {
        for operand in call.operands() {
            push(found, Deed::Write, operand);
        }
        return;
    }
    let deed = if matches!(call.program, "srm" | "wipe" | "shred" | "scrub") {
        Deed::Delete { recursive, bulk: true, narrowed: false }
    } else {
        deed
    };
    for operand in call.operands() {
        let listed = operand.taint.has(Taint::LISTING);
        let bulk = Deed::Delete { recursive, bulk: true, narrowed: call.narrowed };
        push(found, if listed { bulk } else { deed }, operand);
    }
}

/// `Remove-Item -Recurse` and `rd /s`.
fn windows_delete(call: &Call<'_>, found: &mut Vec<Found>) {
    let recursive = call.args.iter().any(|arg| {
        arg.text.eq_ignore_ascii_case("/s") || arg.text.to_ascii_lowercase().starts_with("-r")
    });
    let deed = Deed::Delete { recursive, bulk: false, narrowed: false };
    for operand in call.operands().filter(|arg| !(arg.text.starts_with('/') && arg.text.len() < 3))
    {
        push(found, deed, operand);
    }
}

fn search(call: &Call<'_>, found: &mut Vec<Found>) {
    let narrowed = wrappers::is_narrowed(call.args);
    if call.flag_word("-delete") {
        for root in wrappers::find_roots(call.args) {
            push(found, Deed::Delete { recursive: true, bulk: true, narrowed }, &root);
        }
    }
    for name in ["-fprint", "-fprintf", "-fls", "-fprint0"] {
        if let Some(path) = call.option(&[name]) {
            push(found, Deed::Write, &path);
        }
    }
}

fn is_remote(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(host, _)| !host.is_empty() && !host.contains('/') && !host.starts_with('.'))
        || text.contains(':') && text.contains("://")
}

fn synchronise(call: &Call<'_>, found: &mut Vec<Found>) {
    let operands: Vec<&Arg> = call.operands().collect();
    let Some((destination, sources)) = operands.split_last() else { return };
    if call.flag('n') || call.long("--dry-run") {
        return;
    }
    for source in sources {
        push(found, Deed::Read, source);
    }
    if sources.is_empty() {
        return;
    }
    let deletes = call.options().any(|arg| arg.text.starts_with("--del"));
    if deletes {
        let path = match destination.text.split_once(':') {
            Some((_, path)) if is_remote(&destination.text) => {
                Arg { text: path.to_owned(), ..(*destination).clone() }
            }
            _ => (*destination).clone(),
        };
        push(found, Deed::Delete { recursive: true, bulk: true, narrowed: false }, &path);
    }
    if call.long("--remove-source-files") {
        for source in sources {
            push(found, TREE, source);
        }
    }
    if !is_remote(&destination.text) {
        push(found, Deed::Write, destination);
    }
}

/// The operands of a copying program, without options and their values.
fn copy_operands<'a>(call: &'a Call<'_>) -> Vec<&'a Arg> {
    const VALUES: [&str; 10] = ["-m", "-o", "-g", "-S", "-t", "-i", "-P", "-F", "-l", "-c"];
    let mut skip = false;
    let mut plain = false;
    call.args
        .iter()
        .filter(|arg| {
            if std::mem::take(&mut skip) {
                return false;
            }
            if !plain && arg.is("--") {
                plain = true;
                return false;
            }
            if !plain && arg.text.starts_with('-') && arg.text.len() > 1 {
                let takes = matches!(call.program, "install" | "ginstall" | "scp")
                    || arg.is("-t")
                    || arg.is("-S");
                skip = takes && VALUES.contains(&arg.text.as_str());
                return false;
            }
            true
        })
        .collect()
}

fn copy(call: &Call<'_>, found: &mut Vec<Found>) {
    let operands = copy_operands(call);
    if matches!(call.program, "install" | "ginstall") && call.flag_word("-d") {
        for operand in operands {
            push(found, Deed::Write, operand);
        }
        return;
    }
    let named = call.option(&["-t", "--target-directory"]);
    let (destination, sources) = match (&named, operands.split_last()) {
        (Some(named), _) => (named.clone(), operands.as_slice()),
        (None, Some((last, rest))) => ((*last).clone(), rest),
        (None, None) => return,
    };
    if sources.is_empty() {
        return;
    }
    let directory =
        destination.text.ends_with('/') || destination.is(".") || destination.text.ends_with("/.");
    if !is_remote(&destination.text) || !matches!(call.program, "scp") {
        push(found, Deed::Write, &destination);
        let place = crate::path::resolve(&destination.text, call.cwd, &call.facts.home);
        // Where the directory says it all, the names in it add nothing.
        let settled = crate::path::target(&place, call.facts) != crate::path::Target::Ordinary;
        for source in sources.iter().filter(|_| (directory || named.is_some()) && !settled) {
            let name = source.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            push(
                found,
                Deed::Write,
                &Arg {
                    text: format!("{}/{name}", destination.text.trim_end_matches('/')),
                    ..destination.clone()
                },
            );
        }
        if is_home_directory(&destination.text, call) {
            for source in sources {
                let name = source.text.rsplit('/').next().unwrap_or_default();
                push(
                    found,
                    Deed::Write,
                    &Arg { text: format!("{}/{name}", destination.text), ..destination.clone() },
                );
            }
        }
    }
    for source in sources {
        match call.program {
            "mv" | "gmv" => moved(source, &destination, call, found),
            "ln" => {}
            _ => push(found, Deed::Read, source),
        }
    }
}

fn is_home_directory(text: &str, call: &Call<'_>) -> bool {
    crate::path::is_home(text.trim_end_matches('/'), call.facts)
}

/// A moved path is gone from where it was.
fn moved(source: &Arg, destination: &Arg, call: &Call<'_>, found: &mut Vec<Found>) {
    let away = destination.is("/dev/null");
    let vital = crate::path::is_vital(source.text.trim_end_matches('/'), call.facts)
        && source.text.starts_with('/')
        || source.is("/");
    push(found, if away || vital { TREE } else { ONE }, source);
}

fn disk_dump(call: &Call<'_>, found: &mut Vec<Found>) {
    for arg in call.args {
        if let Some(path) = arg.text.strip_prefix("of=").or_else(|| arg.text.strip_prefix("hof=")) {
            push(found, Deed::Write, &Arg { text: path.to_owned(), ..arg.clone() });
        }
        if let Some(path) = arg.text.strip_prefix("if=") {
            push(found, Deed::Read, &Arg { text: path.to_owned(), ..arg.clone() });
        }
    }
    if call.program == "ddrescue"
        && let Some(path) = call.operands().nth(1)
    {
        push(found, Deed::Write, path);
    }
}

/// `-i` in any spelling.
fn in_place(call: &Call<'_>) -> bool {
    call.long("--in-place")
        || call.options().any(|arg| {
            let text = arg.text.as_str();
            !text.starts_with("--")
                && text.get(1..).is_some_and(|flags| {
                    flags.find('i').is_some_and(|at| {
                        flags.get(..at).is_some_and(|head| {
                            head.bytes().all(|byte| b"nErszupal0w".contains(&byte))
                        })
                    })
                })
        })
}

fn stream_edit(call: &Call<'_>, found: &mut Vec<Found>) {
    let mut operands: Vec<&Arg> = call.operands().collect();
    let script_given = call.options().any(|arg| {
        arg.text.starts_with("-e")
            || arg.text.starts_with("-f")
            || arg.text.starts_with("--expression")
            || arg.text.starts_with("--file")
            || (arg.text.len() > 2
                && !arg.text.starts_with("--")
                && !arg.text.starts_with("-i")
                && arg.text.ends_with('e'))
    });
    if !script_given && !operands.is_empty() {
        let script = operands.remove(0);
        for path in crate::code::sed::written(&script.text) {
            push(found, Deed::Write, &Arg { text: path, ..script.clone() });
        }
    } else if script_given && call.flag_word("-e") && !operands.is_empty() {
        operands.remove(0);
    }
    let deed = if in_place(call) { Deed::Write } else { Deed::Read };
    for operand in operands {
        push(found, deed, operand);
    }
}

fn awk(call: &Call<'_>, found: &mut Vec<Found>) {
    let in_place = call.option(&["-i", "--include"]).is_some_and(|value| value.is("inplace"));
    for operand in call.operands().skip(1) {
        push(found, if in_place { Deed::Write } else { Deed::Read }, operand);
    }
}

fn outputs(call: &Call<'_>, found: &mut Vec<Found>) {
    let names: &[&str] = match call.program {
        "wget" => &["-O", "--output-document"],
        "openssl" => &["-out"],
        "curl" => &["-o", "--output", "--dump-header", "-D"],
        "ssh-keygen"
            if ["-l", "-y", "-F", "-B", "-L", "-e"].iter().any(|flag| call.flag_word(flag)) =>
        {
            &[]
        }
        "ssh-keygen" => &["-f"],
        "crontab" => &[],
        _ => &["-o", "--output"],
    };
    let clustered = match call.program {
        "curl" => call.clustered('o'),
        "wget" => call.clustered('O'),
        _ => None,
    };
    if let Some(path) = call.option(names).or(clustered) {
        push(found, Deed::Write, &path);
    }
    if let Some(folder) = call
        .option(&["-P", "--directory-prefix", "--output-dir"])
        .filter(|_| matches!(call.program, "wget" | "curl"))
    {
        let url = call.operands().last().map(|arg| arg.text.as_str()).unwrap_or_default();
        let name = url.rsplit('/').next().unwrap_or_default();
        push(found, Deed::Write, &Arg { text: format!("{}/{name}", folder.text), ..folder });
    }
    if call.program == "openssl"
        && let Some(path) = call.option(&["-in"])
    {
        push(found, Deed::Read, &path);
    }
    if call.program == "curl" || call.program == "wget" {
        uploads(call, found);
    }
    if call.program == "patch" {
        for operand in call.operands().take(1) {
            push(found, Deed::Write, operand);
        }
    }
}

/// Files that `curl` and `wget` send.
fn uploads(call: &Call<'_>, found: &mut Vec<Found>) {
    if let Some(path) = call.option(&["-T", "--upload-file", "--post-file", "--body-file"]) {
        push(found, Deed::Read, &path);
    }
    for arg in call.args {
        if let Some((head, path)) = arg.text.split_once('@')
            && !path.is_empty()
            && !head.contains("://")
            && (head.is_empty() || head.ends_with('='))
        {
            let path = path.split(';').next().unwrap_or_default();
            push(found, Deed::Read, &Arg { text: path.to_owned(), ..arg.clone() });
        }
        if let Some(path) = arg.text.strip_prefix("file://") {
            push(found, Deed::Read, &Arg { text: path.to_owned(), ..arg.clone() });
        }
    }
}

fn archive(call: &Call<'_>, found: &mut Vec<Found>) {
    let first = call.args.first().map(|arg| arg.text.as_str()).unwrap_or_default();
    let extracts = call.program == "unzip"
        || call.flag('x')
        || call.long("--extract")
        || call.program == "cpio" && call.flag('i')
        || !first.starts_with('-') && first.contains('x') && first.len() < 8;
    if extracts {
        if let Some(path) = call.option(&["-C", "--directory", "-d", "-D"]) {
            push(found, Deed::Write, &path);
        }
        return;
    }
    if let Some(path) = call.option(&["-f", "--file"]) {
        push(found, Deed::Write, &path);
    }
    for operand in call.operands() {
        push(found, Deed::Read, operand);
    }
    let moves = match call.program {
        "zip" => call.flag('m') || call.long("--move"),
        "7z" => call.flag_word("-sdel"),
        _ => call.long("--remove-files"),
    };
    if moves {
        for operand in call.operands().skip(usize::from(!first.starts_with('-'))) {
            push(found, TREE, operand);
        }
    }
}

/// Hosts that `call` reaches, as far as its arguments name them.
pub(crate) fn hosts(call: &Call<'_>) -> Vec<String> {
    let mut hosts = Vec::new();
    match call.program {
        "curl" | "wget" | "git" | "http" | "https" | "aria2c" | "fetch" | "xh" => {
            for arg in call.args.iter().take(64) {
                if let Some((_, rest)) = arg.text.split_once("://") {
                    hosts.push(rest.split(['/', '?', '#']).next().unwrap_or_default().to_owned());
                }
            }
        }
        "ssh" | "nc" | "ncat" | "telnet" | "ftp" | "sftp" => {
            hosts.extend(call.operands().next().map(|arg| arg.text.clone()));
        }
        "scp" | "rsync" => {
            for operand in call.operands() {
                if is_remote(&operand.text) {
                    hosts.push(operand.text.split(':').next().unwrap_or_default().to_owned());
                }
            }
        }
        _ => {}
    }
    hosts
}
