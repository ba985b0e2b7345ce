//! What an archive or a patch on this machine would write, by the names in it. Nothing is unpacked.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// So much of an archive is looked at, unpacked.
const BYTES_MAX: u64 = 64 << 20;
const BLOCK: usize = 512;
/// A name that is longer stands for something else.
const NAME_MAX: u64 = 4096;

/// The names in an archive or a patch, the first `most`; nothing where it is neither, or is packed
/// in a way that is not read here. The flag says whether these are all.
pub(super) fn names(path: &Path, most: usize) -> Option<(Vec<String>, bool)> {
    // Asked first: opening a pipe would wait for somebody.
    if !std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return None;
    }
    let mut head = Vec::new();
    File::open(path).ok()?.take(BLOCK as u64).read_to_end(&mut head).ok()?;
    let file = BufReader::new(File::open(path).ok()?);
    if head.starts_with(b"PK") {
        let archive = zip::ZipArchive::new(file).ok()?;
        let named = archive.file_names().flatten().take(most);
        let members: Vec<String> = named.map(std::borrow::Cow::into_owned).collect();
        let whole = members.len() == archive.len();
        return Some((members, whole));
    }
    if head.starts_with(&[0x1f, 0x8b]) {
        return of_tar(MultiGzDecoder::new(file).take(BYTES_MAX), most);
    }
    if head.get(257..262) == Some(b"ustar") {
        return of_tar(file, most);
    }
    of_patch(file, most)
}

fn of_tar(mut from: impl Read, most: usize) -> Option<(Vec<String>, bool)> {
    let (mut names, mut long) = (Vec::new(), None);
    let mut head = [0_u8; BLOCK];
    loop {
        if names.len() >= most || from.read_exact(&mut head).is_err() {
            // Whatever was cut off may hold anything.
            return (!names.is_empty()).then_some((names, false));
        }
        if head.iter().all(|byte| *byte == 0) {
            return Some((names, true));
        }
        if head.get(257..262) != Some(b"ustar") {
            return None;
        }
        let size = u64::from_str_radix(&text(&head, 124, 12), 8).ok()?;
        let padded = size.div_ceil(BLOCK as u64) * BLOCK as u64;
        let kind = head.get(156).copied().unwrap_or_default();
        if matches!(kind, b'L' | b'x') && size <= NAME_MAX {
            let mut body = Vec::new();
            (&mut from).take(padded).read_to_end(&mut body).ok()?;
            let body =
                String::from_utf8_lossy(body.get(..usize::try_from(size).ok()?)?).into_owned();
            let told = if kind == b'L' { Some(body.as_str()) } else { of_pax(&body) };
            long = told.map(|name| name.trim_end_matches('\0').to_owned()).or(long);
            continue;
        }
        std::io::copy(&mut (&mut from).take(padded), &mut std::io::sink()).ok()?;
        if kind != b'g' {
            let (name, folder) = (text(&head, 0, 100), text(&head, 345, 155));
            let whole = if folder.is_empty() { name } else { format!("{folder}/{name}") };
            names.push(long.take().unwrap_or(whole));
        }
    }
}

/// The name in the extended header of a member.
fn of_pax(body: &str) -> Option<&str> {
    body.lines().find_map(|line| line.split_once(" path=").map(|(_, name)| name))
}

fn text(head: &[u8; BLOCK], at: usize, length: usize) -> String {
    let field = head.get(at..at + length).unwrap_or_default();
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(length);
    String::from_utf8_lossy(field.get(..end).unwrap_or_default()).trim().to_owned()
}

/// The files that a patch names, each without its first folder, too: how many folders are left out
/// is for whoever applies it.
fn of_patch(from: impl Read, most: usize) -> Option<(Vec<String>, bool)> {
    let mut patch = String::new();
    from.take(BYTES_MAX).read_to_string(&mut patch).ok()?;
    let named = patch.lines().filter_map(|line| {
        let name = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- "))?;
        name.split('\t').next().filter(|name| *name != "/dev/null")
    });
    let both = named.flat_map(|name| [Some(name), name.split_once('/').map(|(_, rest)| rest)]);
    let files: Vec<String> = both.flatten().take(most).map(str::to_owned).collect();
    let whole = files.len() < most;
    (!files.is_empty()).then_some((files, whole))
}
