//! Trees that are copied or unpacked, and links that are made on the line: judged by what is written.

use std::path::{Path, PathBuf};

use super::{Reading, ReadingPlace, operands, option, writes};
use crate::permissions::deed::Step;
use crate::permissions::{Access, Touch};

/// So many files of a tree are looked at, and so deep.
const FILES_MAX: usize = 200;
const DEPTH_MAX: usize = 6;
/// What an archive that is unpacked over a home may hold.
const STAND_INS: [&str; 4] = [".bashrc", ".profile", ".ssh/authorized_keys", "config.yaml"];

/// What one program writes of a tree.
pub(super) fn read(
    place: &ReadingPlace<'_>,
    name: &str,
    arguments: &[String],
    found: &mut Vec<Reading>,
) {
    match name {
        "cp" if is_recursive(arguments) => copied(place, arguments, found),
        "rsync" => copied(place, arguments, found),
        "tar" | "bsdtar" | "gtar" if is_unpacking(arguments) => {
            unpacked(place, option(arguments, "-C", "--directory"), found);
        }
        "unzip" | "7z" | "7za" | "7zz" | "bsdcpio" => {
            // `7z` takes its folder with nothing between.
            let attached = arguments.iter().find_map(|word| word.strip_prefix("-o"));
            let attached = attached.filter(|folder| !folder.is_empty() && name.starts_with('7'));
            unpacked(place, attached.or_else(|| option(arguments, "-d", "--directory")), found);
        }
        _ if name.starts_with("python") => {
            if let Some(folder) = unpacked_by_python(arguments) {
                unpacked(place, Some(folder), found);
            }
        }
        "patch" => unpacked(place, option(arguments, "-d", "--directory"), found),
        _ => {}
    }
}

/// `python3 -m zipfile -e ARCHIVE FOLDER`.
fn unpacked_by_python(arguments: &[String]) -> Option<&str> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["-m", "zipfile" | "tarfile", "-e" | "--extract", _, folder, ..] => Some(folder),
        _ => None,
    }
}

fn is_recursive(arguments: &[String]) -> bool {
    arguments.iter().any(|word| {
        let short = word.starts_with('-') && !word.starts_with("--");
        short && word.contains(['r', 'R', 'a']) || word == "--recursive" || word == "--archive"
    })
}

fn is_unpacking(arguments: &[String]) -> bool {
    let first = arguments.first().map_or("", String::as_str);
    let bundled =
        |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains('x');
    !first.starts_with('-') && first.contains('x')
        || arguments.iter().any(|word| bundled(word) || word == "--extract" || word == "--get")
}

fn copied(place: &ReadingPlace<'_>, arguments: &[String], found: &mut Vec<Reading>) {
    let mut sources = operands(arguments);
    let named = option(arguments, "-t", "--target-directory");
    let Some(target) = named.or_else(|| sources.pop()) else { return };
    // Another machine's.
    if target.contains(':') {
        return;
    }
    let target = place.at(target);
    for source in sources {
        let from = place.at(source.strip_suffix("/*").unwrap_or(source));
        let contents = source.ends_with(['/', '*']) || source.ends_with("/.") || source == ".";
        let below = if contents || !target.is_dir() {
            target.clone()
        } else {
            target.join(from.file_name().unwrap_or_default())
        };
        let mut files = Vec::new();
        walk(&from, &from, 0, &mut files);
        found.extend(files.into_iter().map(|file| Reading::Write(below.join(file))));
    }
}

/// The files below a folder, by their names from there.
fn walk(root: &Path, folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if files.len() >= FILES_MAX {
            return;
        }
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < DEPTH_MAX {
            walk(root, &path, depth + 1, files);
        } else if let Ok(name) = path.strip_prefix(root) {
            files.push(name.to_owned());
        }
    }
}

/// What is in an archive is not looked at: over a home it may be anything.
fn unpacked(place: &ReadingPlace<'_>, folder: Option<&str>, found: &mut Vec<Reading>) {
    let folder = folder.map_or(place.cwd.to_path_buf(), |folder| place.at(folder));
    let own = place.facts.agent_home.as_deref().map(Path::new);
    if place.home.starts_with(&folder) || own.is_some_and(|own| folder.starts_with(own)) {
        found.extend(STAND_INS.iter().map(|name| Reading::Write(folder.join(name))));
    }
}

/// Writes through links that earlier steps make.
pub(super) fn links(
    place: &ReadingPlace<'_>,
    steps: &[Step],
    touched: &[Touch],
    found: &mut Vec<Reading>,
) {
    let made: Vec<(PathBuf, PathBuf)> = steps.iter().filter_map(|step| link(place, step)).collect();
    for touch in touched.iter().filter(|touch| writes(touch)) {
        let path = place.at(&touch.path);
        for (link, target) in &made {
            // What removes a link leaves alone what is behind it.
            let through =
                |rest: &Path| touch.access == Access::Write || rest.components().count() > 0;
            if let Some(rest) = path.strip_prefix(link).ok().filter(|rest| through(rest))
                && path != *target
            {
                let real =
                    if rest.as_os_str().is_empty() { target.clone() } else { target.join(rest) };
                found.push(Reading::Write(real));
            }
        }
    }
}

/// The link that a step makes, and where it leads.
fn link(place: &ReadingPlace<'_>, step: &Step) -> Option<(PathBuf, PathBuf)> {
    let (program, arguments) = step.argv.split_first()?;
    let names = operands(arguments);
    let ([target, rest @ ..], "ln") = (names.as_slice(), program.rsplit('/').next()?) else {
        return None;
    };
    let target = place.at(target);
    let link = match rest {
        [link] => place.at(link),
        _ => place.cwd.to_path_buf(),
    };
    let link = if link.is_dir() { link.join(target.file_name()?) } else { link };
    Some((link, target))
}
