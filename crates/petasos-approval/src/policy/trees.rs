//! What a command writes that only the disk tells: the files of trees that are copied, and those that
//! an archive or a patch holds.

use std::path::{Path, PathBuf};

use petasos_analysis::Facts;

use super::{archives, paths};
use crate::permissions::Glob;
use crate::permissions::deed::Step;

/// So many files are looked at: fewer inside the project, where none of them can do much.
const FILES_MAX: usize = 4096;
const FILES_INSIDE_MAX: usize = 200;
const DEPTH_MAX: usize = 12;
/// What may be in that which cannot be looked at.
const STAND_INS: [&str; 4] = [".bashrc", ".profile", ".ssh/authorized_keys", "config.yaml"];

/// Programs that copy what they are given: their names, and words without which folders stay.
const COPIERS: &[(&str, &str)] = &[
    ("cp gcp", "-r -R -a --recursive --archive"),
    ("rsync", "-r -a --recursive --archive"),
    ("mv gmv ditto cpdir", ""),
];

/// Programs that unpack: their names, words without which they do not, and options before the
/// folder. `@` is the last operand.
const UNPACKERS: &[(&str, &str, &str)] = &[
    ("tar bsdtar gtar star", "-x x --extract --get", "-C --directory --cd"),
    ("unzip bsdunzip", "", "-d"),
    ("7z 7za 7zz 7zr", "x e", "-o"),
    ("unrar rar", "x e", "@"),
    ("cpio bsdcpio gcpio", "-i --extract", "-D --directory"),
    ("pax", "-r", ""),
    ("jar", "x -x xf --extract", "-C --dir"),
    ("unar", "", "-o -output-directory"),
    ("dpkg dpkg-deb", "-x -X -R --extract --vextract --raw-extract", "@"),
    ("ar gar", "x", "--output"),
    ("python python3 python2", "-e --extract", "@"),
    ("patch gpatch", "", "-d --directory"),
    ("git", "apply", "--directory"),
];

/// One command, where it is read.
struct Reader<'a> {
    cwd: &'a Path,
    facts: &'a Facts,
    arguments: &'a [String],
    found: &'a mut Vec<PathBuf>,
}

/// Every path that these steps write besides what their text says.
pub(super) fn written(steps: &[Step], facts: &Facts) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for step in steps {
        let Some((program, arguments)) = step.argv.split_first() else { continue };
        let cwd = step.cwd.as_deref().or(facts.cwd.as_deref()).unwrap_or("/");
        let mut reader = Reader { cwd: Path::new(cwd), facts, arguments, found: &mut found };
        let name = program.rsplit('/').next().unwrap_or_default();
        let named = |names: &str| names.split(' ').any(|known| known == name);
        if let Some((_, needed)) = COPIERS.iter().find(|(names, _)| named(names)) {
            reader.copied(needed);
        } else if let Some(row) = UNPACKERS.iter().find(|(names, ..)| named(names))
            && reader.has(row.1)
        {
            reader.unpacked(row.2);
        }
    }
    found
}

impl Reader<'_> {
    /// A path as the command means it.
    fn at(&self, path: &str) -> PathBuf {
        paths::folded(Path::new(path), self.cwd, Path::new(&self.facts.home))
    }

    /// Whether one of these words is there, a letter also among others behind one dash.
    fn has(&self, words: &str) -> bool {
        words.is_empty()
            || self.arguments.iter().enumerate().any(|(at, word)| {
                words.split(' ').any(|known| match known.strip_prefix('-') {
                    Some(letter) if letter.len() == 1 => {
                        word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
                    }
                    _ => word == known || known.len() == 1 && at == 0 && word.contains(known),
                })
            })
    }

    fn operands(&self) -> Vec<&str> {
        self.arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect()
    }

    /// The value of one of these options: behind it, or joined to it.
    fn option(&self, names: &str) -> Option<&str> {
        let mut words = self.arguments.iter();
        while let Some(word) = words.next() {
            for name in names.split(' ').filter(|name| !name.is_empty()) {
                match word.strip_prefix(name) {
                    Some("") => return words.next().map(String::as_str),
                    Some(rest) if rest.starts_with('=') => return rest.get(1..),
                    Some(rest) if !name.starts_with("--") => return Some(rest),
                    _ => {}
                }
            }
        }
        None
    }

    /// Whether a folder lies over what a home or the agent keeps.
    fn is_over_home(&self, folder: &Path) -> bool {
        let own = self.facts.agent_home.as_deref().map(Path::new);
        Path::new(&self.facts.home).starts_with(folder)
            || own.is_some_and(|own| folder.starts_with(own))
    }

    fn most(&self, folder: &Path) -> usize {
        let inside = self.facts.workspace.as_deref().is_some_and(|root| folder.starts_with(root));
        if inside { FILES_INSIDE_MAX } else { FILES_MAX }
    }

    /// What cannot be looked at may be anything.
    fn unknown(&mut self, folder: &Path) {
        if self.is_over_home(folder) {
            self.found.extend(STAND_INS.iter().map(|name| folder.join(name)));
        }
    }

    fn copied(&mut self, needed: &str) {
        let mut sources = self.operands();
        let named = self.option("-t --target-directory");
        let Some(target) = named.or_else(|| sources.pop()) else { return };
        // Another machine's.
        if target.contains(':') {
            return;
        }
        let (target, deep) = (self.at(target), self.has(needed));
        let most = self.most(&target);
        let mut files = Vec::new();
        for source in sources {
            let from = self.at(source);
            let contents = source.ends_with('/') || source.ends_with("/.") || source == ".";
            for from in matching(&from) {
                let joined = target.join(from.file_name().unwrap_or_default());
                let below = if contents || !target.is_dir() { target.clone() } else { joined };
                if from.is_dir() && deep {
                    walk(&from, &below, most, &mut files);
                } else if source.contains(['*', '?', '[']) {
                    files.push(below);
                }
            }
        }
        if files.len() >= most {
            self.unknown(&target);
        }
        self.found.append(&mut files);
    }

    fn unpacked(&mut self, options: &str) {
        let named = if options == "@" { self.operands().pop() } else { self.option(options) };
        let folder = named.map_or_else(|| self.cwd.to_path_buf(), |folder| self.at(folder));
        let most = self.most(&folder);
        let listed = |word: &String| {
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            archives::names(&self.at(value), most)
        };
        let archives: Vec<_> = self.arguments.iter().filter_map(listed).collect();
        let skipped = self.option("--strip-components -p").and_then(|text| text.parse().ok());
        let renames = self.option("--transform --xform -s").is_some();
        if renames || archives.is_empty() || archives.iter().any(|(_, whole)| !whole) {
            self.unknown(&folder);
        }
        let absolute = self.has("-P --absolute-names");
        for name in archives.iter().flat_map(|(names, _)| names) {
            let name = if absolute { name.as_str() } else { name.trim_start_matches('/') };
            let rest: PathBuf = Path::new(name).components().skip(skipped.unwrap_or(0)).collect();
            self.found.push(paths::folded(&rest, &folder, Path::new(&self.facts.home)));
        }
    }
}

/// What a path stands for: itself, or the names that a pattern at its end fits.
fn matching(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !name.contains(['*', '?', '[']) {
        return vec![path.to_owned()];
    }
    let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let names = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let pattern = Glob::new(name);
    let fits = |entry: &PathBuf| {
        let entry = entry.file_name().and_then(|entry| entry.to_str()).unwrap_or_default();
        pattern.matches(entry) && (!entry.starts_with('.') || name.starts_with('.'))
    };
    names.filter(fits).take(FILES_INSIDE_MAX).collect()
}

/// The files below a folder, as they are called below another one.
fn walk(from: &Path, below: &Path, most: usize, files: &mut Vec<PathBuf>) {
    let mut open = vec![(from.to_owned(), below.to_owned(), 0)];
    while let Some((from, below, depth)) = open.pop() {
        for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
            let name = below.join(entry.file_name());
            if files.len() >= most {
                return;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && depth < DEPTH_MAX {
                open.push((entry.path(), name, depth + 1));
            } else {
                files.push(name);
            }
        }
    }
}
