//! What well-known programs do to the paths and hosts in their arguments.

use crate::flow::call::Call;
use crate::flow::report::Deed;
use crate::flow::value::{Arg, Taint};
use crate::own_program;
use crate::table::Table;
use crate::words::lists;
use crate::wrappers;
use std::borrow::Borrow;
use std::sync::LazyLock;

mod copying;
mod editing;
mod outputs;

use copying::{copy, into_container, is_remote, mirror, synchronise};
use editing::edited;
use outputs::{archive, outputs};

/// A path in an argument and what is done to it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) deed: Deed,
    pub(crate) path: Arg,
}

const ONE: Deed = Deed::Delete { recursive: false, bulk: false, narrowed: false };

/// What a program does to the paths in its arguments.
type Touching = fn(&Call<'_>, &mut Vec<Found>);

/// Programs by what they do to paths.
const TOUCHING: &[(&str, Touching)] = &[
    (
        "rm grm unlink srm rimraf del-cli shred wipe scrub remove_directory remove trash-rm rmrf",
        delete,
    ),
    ("remove-item ri rd del erase", windows_delete),
    ("set-content add-content clear-content out-file tee-object", |call, found| {
        let named = call.values(&["-Path", "-FilePath", "-LiteralPath"]).next();
        found.extend(each(Deed::Write, named.or_else(|| call.operands().next().cloned())));
    }),
    ("rmdir", |call, found| operands(call, ONE, found)),
    ("find gfind", search),
    ("rsync", synchronise),
    ("robocopy", mirror),
    ("cp gcp install ginstall mv gmv ln scp ditto rename copy pax", copy),
    ("tee sponge truncate touch vipw sudoedit ed ex", |call, found| {
        operands(call, Deed::Write, found);
    }),
    ("nano vim vi nvim emacs", |call, found| {
        let saves = call.args.iter().any(|arg| lists("+wq +w +x +wq! +w! +wqa +x!", &arg.text));
        if call.elevated || call.stdin.text.is_some() || call.flag('c') || saves {
            operands(call, Deed::Write, found);
        }
    }),
    ("sudo", |call, found| {
        let mut options = call.args.iter().take_while(|arg| arg.text.starts_with('-'));
        if options.any(|arg| arg.is("-e") || arg.is("--edit")) {
            operands(call, Deed::Write, found);
        }
    }),
    ("dd dcfldd dc3dd ddrescue", disk_dump),
    ("sed gsed", stream_edit),
    ("perl ruby", |call, found| {
        if in_place(call) {
            operands(call, Deed::Write, found);
        } else if call.flag('n') || call.flag('p') {
            found.extend(each(Deed::Read, call.operands().skip(1)));
        }
    }),
    ("awk gawk", awk),
    ("split csplit", pieces),
    ("script", |call, found| {
        let operands = call.operands_past("-c -T -t -m -E -o -I -O -B");
        found.extend(each(Deed::Write, operands.first().copied()));
    }),
    ("objcopy convert magick ffmpeg", converted),
    ("htpasswd htdigest", |call, found| found.extend(each(Deed::Write, call.operands().next()))),
    ("yq crudini dasel toml ini-file sd rpl replace fastmod augtool", |call, found| {
        edited(call, found);
        outputs(call, found);
    }),
    (
        "curl wget http https xh curlie aria2c openssl gpg age jq sort gcc patch crontab ssh-keygen",
        outputs,
    ),
    ("tar bsdtar gtar unzip zip 7z cpio jar", archive),
    (
        "cat head tail less more bat batcat strings xxd od hexdump base64 base32 nl tac rev cut view \
         diff fold paste column pbcopy xclip uuencode gzip most zcat sdiff comm type get-content gc source",
        |call, found| operands(call, Deed::Read, found),
    ),
    ("grep egrep rg fgrep ag zgrep", searched),
    (
        "docker podman nerdctl kubectl oc lxc incus multipass adb gcloud docker-compose",
        into_container,
    ),
    ("git", repository),
    ("ansible", module_paths),
    ("petasos hermes", |call, found| found.extend(own_program::touched(call))),
];

static BY_NAME: LazyLock<Table<Touching>> = LazyLock::new(|| {
    let names = |row: &(&'static str, Touching)| {
        let touching = row.1;
        row.0.split_ascii_whitespace().map(move |name| (name, touching))
    };
    TOUCHING.iter().flat_map(names).collect()
});

/// The paths `call` touches.
pub(crate) fn of(call: &Call<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    match BY_NAME.get(call.program) {
        Some(touching) => touching(call, &mut found),
        None => {
            outputs::disks(call, &mut found);
            outputs::named(call, &mut found);
        }
    }
    found
}

/// A file that is made of another one.
fn converted(call: &Call<'_>, found: &mut Vec<Found>) {
    let operands = call.operands_past("-i -I -O");
    if let [_, .., output] | [output] = operands.as_slice()
        && (operands.len() > 1 || call.program == "ffmpeg")
        && !matches!(call.operand(0), "identify" | "compare")
    {
        push(found, Deed::Write, output);
    }
}

/// Files that go into a repository, and where one is put.
fn repository(call: &Call<'_>, found: &mut Vec<Found>) {
    match call.operand(0) {
        "add" | "stage" => {
            found.extend(each(Deed::Read, call.operands().skip(1)));
        }
        "clone" => {
            found.extend(each(Deed::Write, call.operands().nth(2)));
        }
        "config" if call.flag_word("--system") && call.operands().count() > 2 => {
            push(found, Deed::Write, &Arg::new("/etc/gitconfig", call.span));
        }
        "config"
            if call.flag_word("--global")
                && call.operand(1).to_ascii_lowercase().starts_with("include") =>
        {
            push(found, Deed::Write, &Arg::new("~/.gitconfig", call.span));
        }
        "archive" | "format-patch" | "bundle" | "diff" | "show" | "log" => {
            found.extend(each(Deed::Write, call.option(&["-o", "--output", "--output-directory"])));
        }
        "config" if call.operands_past("-f --file").len() > 2 => {
            found.extend(each(Deed::Write, call.option(&["-f", "--file"])));
        }
        _ => {}
    }
}

/// Files that a module of `ansible` is told to write.
fn module_paths(call: &Call<'_>, found: &mut Vec<Found>) {
    for arg in call.values(&["-a", "--args"]) {
        let paths = arg
            .text
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("path=").or_else(|| word.strip_prefix("dest=")));
        let gone = arg.text.contains("state=absent");
        for path in paths {
            push(found, if gone { Deed::TREE } else { Deed::Write }, &arg.with_text(path));
        }
    }
}

/// A file that is cut into others.
fn pieces(call: &Call<'_>, found: &mut Vec<Found>) {
    let operands = call.operands_past("-b -l -n -a -C -f");
    let prefix = match call.program {
        "csplit" => call.option(&["-f", "--prefix"]),
        _ => operands.get(1).map(|prefix| (*prefix).clone()),
    };
    found.extend(each(Deed::Read, operands.first().copied()));
    found.extend(each(Deed::Write, prefix));
}

/// All operands, with one thing done to them.
fn operands(call: &Call<'_>, deed: Deed, found: &mut Vec<Found>) {
    found.extend(each(deed, call.operands()));
}

/// The same deed, done to each of these paths.
fn each<A: Borrow<Arg>>(
    deed: Deed,
    paths: impl IntoIterator<Item = A>,
) -> impl Iterator<Item = Found> {
    let named = |path: &A| !path.borrow().text.is_empty() && !path.borrow().is("-");
    paths.into_iter().filter(named).map(move |path| Found { deed, path: path.borrow().clone() })
}

fn push(found: &mut Vec<Found>, deed: Deed, path: &Arg) {
    found.extend(each(deed, [path]));
}

fn delete(call: &Call<'_>, found: &mut Vec<Found>) {
    let always = matches!(call.program, "rimraf" | "del-cli" | "remove_directory" | "rmrf");
    let recursive = always || call.flag('r') || call.flag('R') || call.long("--recursive");
    if call.program == "shred" && !call.flag('u') && !call.long("--remove") {
        found.extend(each(Deed::Write, call.operands()));
        return;
    }
    // What these take away does not come back.
    let for_good = lists("srm wipe shred scrub", call.program);
    for operand in call.operands() {
        let bulk = call.bulk || for_good || operand.taint.has(Taint::LISTING);
        let narrowed = call.narrowed && !for_good;
        push(found, Deed::Delete { recursive, bulk, narrowed }, operand);
    }
}

/// The files of a search; its pattern is none of them.
fn searched(call: &Call<'_>, found: &mut Vec<Found>) {
    const VALUES: &str =
        "-e -f -m -A -B -C -g -t -T --include --exclude --exclude-dir --glob --type";
    let given = call.option(&["-e", "-f", "--regexp", "--file"]).is_some();
    found
        .extend(each(Deed::Read, call.operands_past(VALUES).into_iter().skip(usize::from(!given))));
}

/// `/s` and its like.
fn is_switch(text: &str) -> bool {
    text.len() == 2
        && text.starts_with('/')
        && text.chars().nth(1).is_some_and(|letter| letter.is_ascii_alphabetic())
}

/// `Remove-Item -Recurse` and `rd /s`.
fn windows_delete(call: &Call<'_>, found: &mut Vec<Found>) {
    let recursive = call.args.iter().any(|arg| {
        arg.text.eq_ignore_ascii_case("/s") || arg.text.to_ascii_lowercase().starts_with("-r")
    });
    let deed = Deed::Delete { recursive, bulk: false, narrowed: false };
    let rehearsed = call.args.iter().any(|arg| arg.text.eq_ignore_ascii_case("-whatif"));
    for operand in call.operands().filter(|arg| !is_switch(&arg.text) && !rehearsed) {
        let listed = Deed::Delete { recursive, bulk: true, narrowed: false };
        push(found, if operand.taint.has(Taint::LISTING) { listed } else { deed }, operand);
    }
}

fn search(call: &Call<'_>, found: &mut Vec<Found>) {
    let narrowed = wrappers::is_narrowed(call.args);
    if wrappers::find_actions(call.args).any(|arg| arg.is("-delete")) {
        found.extend(each(
            Deed::Delete { recursive: true, bulk: true, narrowed },
            wrappers::find_roots(call.args),
        ));
    }
    for name in ["-fprint", "-fprintf", "-fls", "-fprint0"] {
        found.extend(each(Deed::Write, call.option(&[name])));
    }
}

fn disk_dump(call: &Call<'_>, found: &mut Vec<Found>) {
    for arg in call.args {
        let named = ["of=", "hof=", "wipe=", "hwipe="];
        if let Some(path) = named.iter().find_map(|name| arg.text.strip_prefix(name)) {
            push(found, Deed::Write, &arg.with_text(path));
        }
        if let Some(path) = arg.text.strip_prefix("if=") {
            push(found, Deed::Read, &arg.with_text(path));
        }
    }
    if call.program == "ddrescue"
        && let Some(path) = call.operands().nth(1)
    {
        push(found, Deed::Write, path);
    }
}

/// `-i` in any spelling.
pub(crate) fn in_place(call: &Call<'_>) -> bool {
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
            push(found, Deed::Write, &script.with_text(path));
        }
    } else if script_given && call.flag_word("-e") && !operands.is_empty() {
        operands.remove(0);
    }
    let deed = if in_place(call) { Deed::Write } else { Deed::Read };
    found.extend(each(deed, operands));
}

fn awk(call: &Call<'_>, found: &mut Vec<Found>) {
    let in_place = call.values(&["-i", "--include"]).any(|value| value.is("inplace"));
    found.extend(each(if in_place { Deed::Write } else { Deed::Read }, call.operands().skip(1)));
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
