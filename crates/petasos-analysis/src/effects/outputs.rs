//! Files that tools write by an option or as their last operand, and those they send.

use super::{Found, each, push};
use crate::flow::call::Call;
use crate::flow::report::Deed;
use crate::flow::value::Arg;
use crate::words::lists;

pub(super) fn outputs(call: &Call<'_>, found: &mut Vec<Found>) {
    let names: &[&str] = match call.program {
        "wget" => &["-O", "--output-document", "-o", "-a", "--output-file", "--append-output"],
        "openssl" => &["-out"],
        "curl" => &["-o", "--output", "--dump-header", "-D"],
        "ssh-keygen" if call.args.iter().any(|arg| lists("-l -y -F -B -L -e", &arg.text)) => &[],
        "ssh-keygen" => &["-f"],
        "crontab" => &[],
        _ => &["-o", "--output"],
    };
    let clustered = match call.program {
        "curl" => call.clustered('o'),
        "wget" => call.clustered('O'),
        _ => None,
    };
    let headers = call.clustered('D').filter(|_| call.program == "curl");
    found.extend(each(Deed::Write, call.values(names).chain(clustered).chain(headers)));
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
    if lists("curl wget http https xh curlie", call.program) {
        uploads(call, found);
    }
    if call.program == "jq" {
        found.extend(each(Deed::Read, call.operands().skip(1)));
    }
    if call.program == "patch" {
        found.extend(each(Deed::Write, call.operands().take(1)));
    }
}

/// Files that `curl` and `wget` send.
fn uploads(call: &Call<'_>, found: &mut Vec<Found>) {
    found.extend(each(
        Deed::Read,
        call.values(&["-T", "--upload-file", "--post-file", "--body-file"]),
    ));
    let mut encoded = false;
    for arg in call.args {
        if let Some(path) = arg.text.split_once("=<").map(|(_, path)| path) {
            let path = path.split(';').next().unwrap_or_default();
            push(found, Deed::Read, &arg.with_text(path));
        }
        let behind = std::mem::replace(&mut encoded, arg.is("--data-urlencode"));
        let encoded = behind || arg.text.starts_with("--data-urlencode=");
        if let Some((head, path)) = arg.text.split_once('@')
            && !path.is_empty()
            && !head.contains("://")
            && (head.is_empty() || head.ends_with('=') || encoded)
        {
            let path = path.split(';').next().unwrap_or_default();
            push(found, Deed::Read, &arg.with_text(path));
        }
        if let Some(path) = arg.text.strip_prefix("file://") {
            push(found, Deed::Read, &arg.with_text(path));
        }
    }
}

/// Where an archive is unpacked, and the members that are asked for by name.
fn extracted(call: &Call<'_>, found: &mut Vec<Found>) {
    let place = call.option(&["-C", "--directory", "-d", "-D", "--one-top-level"]);
    if let Some(place) = &place {
        push(found, Deed::Write, place);
    }
    let shows = match call.program {
        "unzip" => ['l', 'p', 't', 'v', 'Z'].iter().any(|letter| call.flag(*letter)),
        _ => call.flag('O') || call.long("--to-stdout") || call.operand(0).contains('O'),
    };
    if shows && call.program != "cpio" {
        return;
    }
    if call.program == "cpio" {
        let place = call.operands().next().cloned();
        push(found, Deed::Write, &place.unwrap_or_else(|| Arg::new(".", call.span)));
        return;
    }
    let folder = place.map_or_else(|| ".".to_owned(), |place| place.text);
    for member in call.operands().filter(|member| member.text != folder) {
        let text = format!("{}/{}", folder.trim_end_matches('/'), member.text);
        push(found, Deed::Write, &member.with_text(text));
    }
}

pub(super) fn archive(call: &Call<'_>, found: &mut Vec<Found>) {
    let first = call.args.first().map(|arg| arg.text.as_str()).unwrap_or_default();
    let extracts = call.program == "unzip"
        || call.flag('x')
        || call.long("--extract")
        || call.program == "cpio" && (call.flag('i') || call.flag('p'))
        || !first.starts_with('-') && first.contains('x') && first.len() < 8;
    if extracts {
        extracted(call, found);
        return;
    }
    // `cf place`, `-cf place`, `-f place`.
    let bundled = !first.starts_with('-') && first.contains('f') && first.len() < 8;
    let written = if bundled {
        call.args.get(1).cloned()
    } else {
        call.option(&["-f", "--file", "-O"]).or_else(|| call.clustered('f'))
    };
    found.extend(each(Deed::Write, written.filter(|_| !matches!(call.program, "zip" | "7z"))));
    let made = match call.program {
        "zip" => call.operands().next(),
        "7z" if call.operand(0) == "a" => call.operands().nth(1),
        _ => None,
    };
    found.extend(each(Deed::Write, made));
    let folder = call.option(&["-C", "--directory"]);
    for operand in call.operands() {
        push(found, Deed::Read, operand);
        if let Some(folder) = folder.as_ref().filter(|_| !operand.text.starts_with('/')) {
            let text = format!("{}/{}", folder.text.trim_end_matches('/'), operand.text);
            push(found, Deed::Read, &operand.with_text(text));
        }
    }
    let moves = match call.program {
        "zip" => call.flag('m') || call.long("--move"),
        "7z" => call.flag_word("-sdel"),
        _ => call.long("--remove-files"),
    };
    if moves {
        found.extend(each(Deed::TREE, call.operands().skip(usize::from(!first.starts_with('-')))));
    }
}

const NAMES: &[&str] =
    &["-o", "--output", "--output-file", "--outfile", "--out", "--result-file", "--log-file"];

/// Files given to the usual options for an output; every tool calls them so.
pub(super) fn named(call: &Call<'_>, found: &mut Vec<Found>) {
    // Here the letter means something else.
    if lists("ls dir test [ ps ssh mount lsof set shopt stat", call.program) {
        return;
    }
    found.extend(each(
        Deed::Write,
        call.values(NAMES).filter(|path| path.text.starts_with(['/', '~', '.'])),
    ));
    if lists("pg_dump pg_dumpall mongodump script sqlpackage", call.program) {
        found.extend(each(Deed::Write, call.values(&["-f", "--file", "--archive"])));
    }
}

/// Disks given to whatever option or operand a tool has for its output.
pub(super) fn disks(call: &Call<'_>, found: &mut Vec<Found>) {
    const OUTPUTS: [&str; 8] =
        ["-o", "-O", "--output", "--outfile", "--overwrite", "--drive", "-outdev", "--device"];
    if matches!(call.program, "echo" | "printf" | "git" | "man") {
        return;
    }
    let disk = |text: &str| text.starts_with("/dev/") && crate::path::is_disk(text);
    for pair in call.args.windows(2) {
        if let [name, value] = pair
            && OUTPUTS.contains(&name.text.as_str())
            && disk(&value.text)
        {
            push(found, Deed::Write, value);
        }
    }
    for arg in call.args {
        let value = ["of=", "--output=", "--outfile=", "--drive="]
            .iter()
            .find_map(|name| arg.text.strip_prefix(name))
            .or_else(|| arg.text.split_once(",dest=").map(|(_, value)| value));
        if let Some(value) = value.filter(|value| disk(value)) {
            push(found, Deed::Write, &arg.with_text(value));
        }
    }
    let operands = call.operands();
    match call.program {
        name if lists(BURNERS, name) => {
            found.extend(each(Deed::Write, operands.filter(|arg| disk(&arg.text))));
        }
        name if lists("dd_rescue safecopy virt-resize virt-sparsify bcp xfs_copy", name) => {
            found.extend(each(Deed::Write, operands.last()));
        }
        "qemu-img" if call.operand(0) == "convert" => {
            found.extend(each(Deed::Write, operands.last()));
        }
        "qemu-img" if lists("create commit resize rebase", call.operand(0)) => {
            found.extend(each(Deed::Write, operands.skip(1)));
        }
        "socat" => addresses(call, found),
        _ => {}
    }
}

/// Programs that put an image on the disk they are given.
const BURNERS: &str =
    "bmaptool balena rpi-imager nwipe zerofree woeusb usbimager syslinux extlinux";

/// The two ends of `socat`; which of them is written to depends on its direction.
fn addresses(call: &Call<'_>, found: &mut Vec<Found>) {
    for (position, arg) in call.operands().take(2).enumerate() {
        let Some((kind, rest)) = arg.text.split_once(':') else { continue };
        if !lists("FILE OPEN CREATE CREAT GOPEN PIPE", &kind.to_ascii_uppercase()) {
            continue;
        }
        let (path, options) = rest.split_once(',').unwrap_or((rest, ""));
        let only_read = call.flag_word("-u") && position == 0
            || call.flag_word("-U") && position == 1
            || options.contains("rdonly");
        let deed = if only_read { Deed::Read } else { Deed::Write };
        push(found, deed, &arg.with_text(path));
    }
}
