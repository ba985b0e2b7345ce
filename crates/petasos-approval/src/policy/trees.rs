//! What a command writes that only the disk tells: the files of trees that are copied, and what an
//! archive over a home may hold.

use std::path::{Path, PathBuf};

use petasos_analysis::Facts;

use super::paths;
use crate::permissions::deed::Step;

/// So many writes a command may come to.
const WRITES_MAX: usize = 256;

/// So many files of a tree are looked at, and so deep.
const FILES_MAX: usize = 200;
const DEPTH_MAX: usize = 6;
/// What an archive that is unpacked over a home may hold.
const STAND_INS: [&str; 4] = [".bashrc", ".profile", ".ssh/authorized_keys", "config.yaml"];

/// The place that steps are read in.
struct Place<'a> {
    facts: &'a Facts,
    cwd: &'a Path,
    home: &'a Path,
}

impl Place<'_> {
    /// A path as the command means it.
    fn at(&self, path: &str) -> PathBuf {
        paths::folded(Path::new(path), self.cwd, self.home)
    }
}

/// Every path that these steps write besides what their text says.
pub(super) fn written(steps: &[Step], facts: &Facts) -> Vec<PathBuf> {
    let cwd = Path::new(facts.cwd.as_deref().unwrap_or("/"));
    let place = Place { facts, cwd, home: Path::new(&facts.home) };
    let mut found = Vec::new();
    for step in steps {
        let Some((program, arguments)) = step.argv.split_first() else { continue };
        read(&place, program.rsplit('/').next().unwrap_or_default(), arguments, &mut found);
    }
    found.truncate(WRITES_MAX);
    found
}

/// What one program writes of a tree.
fn read(place: &Place<'_>, name: &str, arguments: &[String], found: &mut Vec<PathBuf>) {
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

fn copied(place: &Place<'_>, arguments: &[String], found: &mut Vec<PathBuf>) {
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
        found.extend(files.into_iter().map(|file| below.join(file)));
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
fn unpacked(place: &Place<'_>, folder: Option<&str>, found: &mut Vec<PathBuf>) {
    let folder = folder.map_or(place.cwd.to_path_buf(), |folder| place.at(folder));
    let own = place.facts.agent_home.as_deref().map(Path::new);
    if place.home.starts_with(&folder) || own.is_some_and(|own| folder.starts_with(own)) {
        found.extend(STAND_INS.iter().map(|name| folder.join(name)));
    }
}

/// The arguments that are no options.
fn operands(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect()
}

/// The value of an option: behind it, or joined to it.
fn option<'a>(arguments: &'a [String], short: &str, long: &str) -> Option<&'a str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == short || word == long {
            return words.next().map(String::as_str);
        }
        let joined = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        let short =
            word.strip_prefix(short).filter(|rest| !rest.is_empty() && !word.starts_with("--"));
        if let Some(value) = joined.or(short) {
            return Some(value);
        }
    }
    None
}
