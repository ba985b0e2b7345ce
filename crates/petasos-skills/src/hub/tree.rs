//! Files of a package by their path: unpacked in memory, checked, one skill chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use serde_json::json;
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

use super::tar::{self, Kind};
use crate::error::SkillError;
use crate::format::MAIN_FILE;

/// What one skill may have.
const FILES_MAX: usize = 50;
pub(super) const FILE_BYTES_MAX: usize = 256 * 1024;
const ALL_BYTES_MAX: usize = 1 << 20;
/// What an archive may have, in which one skill is looked for.
const UNPACKED_MAX: usize = 64 << 20;
const RATIO_MAX: usize = 100;

/// Files, and what is no plain file, by path.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) odd: BTreeMap<String, &'static str>,
}

/// Unpacks a zip or tar archive in memory; refuses paths that lead out of it, and bombs.
pub(super) fn of_archive(bytes: &[u8]) -> Result<Tree, SkillError> {
    if bytes.starts_with(b"PK") {
        return of_zip(bytes);
    }
    if bytes.starts_with(b"\x1f\x8b") {
        let most = UNPACKED_MAX.min(bytes.len().saturating_mul(RATIO_MAX).max(1 << 20));
        let mut plain = Vec::new();
        let mut reader = flate2::read::MultiGzDecoder::new(bytes).take(most as u64 + 1);
        reader.read_to_end(&mut plain).map_err(|error| {
            SkillError::new("upstream", format!("the archive is damaged: {error}"))
        })?;
        if plain.len() > most {
            return Err(bomb());
        }
        return of_tar(&plain);
    }
    of_tar(bytes)
}

pub(super) fn of_tar(bytes: &[u8]) -> Result<Tree, SkillError> {
    let mut tree = Tree::default();
    for entry in tar::entries(bytes)? {
        let path = plain_path(&entry.path)?;
        match entry.kind {
            Kind::Folder => {}
            Kind::File => tree.put(&path, entry.data.to_vec())?,
            Kind::Link => {
                tree.odd.insert(path, "a link");
            }
            Kind::Device => {
                tree.odd.insert(path, "a device");
            }
        }
    }
    Ok(tree)
}

fn of_zip(bytes: &[u8]) -> Result<Tree, SkillError> {
    let damaged = |error: zip::result::ZipError| {
        SkillError::new("upstream", format!("the archive is damaged: {error}"))
    };
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).map_err(damaged)?;
    let mut tree = Tree::default();
    let mut left = UNPACKED_MAX;
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).map_err(damaged)?;
        let path = plain_path(&entry.name().map_err(damaged)?)?;
        if entry.is_dir() {
            continue;
        }
        let mode = entry.unix_mode().unwrap_or(0o100_644) & 0o170_000;
        if mode == 0o120_000 {
            tree.odd.insert(path, "a link");
            continue;
        }
        if mode != 0o100_000 && mode != 0 {
            tree.odd.insert(path, "a device");
            continue;
        }
        // What it says of its size is not believed.
        let packed = usize::try_from(entry.compressed_size()).unwrap_or(usize::MAX);
        let most = left.min(packed.saturating_mul(RATIO_MAX).max(64 * 1024));
        let mut data = Vec::new();
        let read = entry.by_ref().take(most as u64 + 1).read_to_end(&mut data);
        read.map_err(|error| {
            SkillError::new("upstream", format!("the archive is damaged: {error}"))
        })?;
        if data.len() > most {
            return Err(bomb());
        }
        left -= data.len();
        tree.put(&path, data)?;
    }
    Ok(tree)
}

impl Tree {
    fn put(&mut self, path: &str, data: Vec<u8>) -> Result<(), SkillError> {
        if self.files.insert(path.to_owned(), data).is_some() {
            return Err(SkillError::denied(format!("`{path}` is in the archive twice")));
        }
        Ok(())
    }

    /// The files of one skill: the folder of this name or place, the only one without.
    pub(super) fn skill(
        mut self,
        wanted: Option<&str>,
    ) -> Result<(String, BTreeMap<String, Vec<u8>>), SkillError> {
        let mut folders: Vec<String> = Vec::new();
        for path in self.files.keys() {
            if let Some(folder) = path.strip_suffix(MAIN_FILE) {
                let folder = folder.trim_end_matches('/');
                if folder.is_empty() || path.ends_with(&format!("/{MAIN_FILE}")) {
                    folders.push(folder.to_owned());
                }
            }
        }
        let last = |folder: &str| folder.rsplit('/').next().unwrap_or_default().to_owned();
        let fitting: Vec<&String> = match wanted {
            None => folders.iter().collect(),
            Some(wanted) => {
                let exact: Vec<&String> = folders
                    .iter()
                    .filter(|folder| *folder == wanted || folder.ends_with(&format!("/{wanted}")))
                    .collect();
                if exact.is_empty() {
                    folders.iter().filter(|folder| last(folder) == last(wanted)).collect()
                } else {
                    exact
                }
            }
        };
        let folder = match fitting.as_slice() {
            [one] => (*one).clone(),
            [] => {
                let said = format!("there is no {MAIN_FILE} in it; found: {}", listed(&folders));
                return Err(SkillError::missing(said).with("candidates", json!(folders)));
            }
            many => {
                let many: Vec<String> = many.iter().map(|folder| (*folder).clone()).collect();
                let said = format!("it has several skills, say which: {}", listed(&many));
                return Err(SkillError::new("ambiguous", said).with("candidates", json!(many)));
            }
        };
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        if let Some((path, what)) = self.odd.iter().find(|(path, _)| path.starts_with(&prefix)) {
            return Err(SkillError::denied(format!("`{path}` is {what}: it is not installed")));
        }
        let mut files = BTreeMap::new();
        for (path, data) in std::mem::take(&mut self.files) {
            if let Some(below) = path.strip_prefix(&prefix) {
                let skipped = [".git/", "__pycache__/", "node_modules/"];
                if !skipped.iter().any(|skip| below.starts_with(skip)) {
                    files.insert(below.to_owned(), data);
                }
            }
        }
        within_limits(&files)?;
        Ok((last(&folder), files))
    }
}

fn listed(folders: &[String]) -> String {
    let shown: Vec<&str> = folders.iter().map(String::as_str).take(40).collect();
    if shown.is_empty() { "nothing".to_owned() } else { shown.join(", ") }
}

/// What a skill of a hub may have.
pub(super) fn within_limits(files: &BTreeMap<String, Vec<u8>>) -> Result<(), SkillError> {
    let large = |what: String| SkillError::new("too_large", what);
    if files.len() > FILES_MAX {
        return Err(large(format!(
            "it has {} files, and {FILES_MAX} may be installed",
            files.len()
        )));
    }
    if let Some((path, data)) = files.iter().find(|(_, data)| data.len() > FILE_BYTES_MAX) {
        return Err(large(format!(
            "`{path}` has {} bytes, more than {FILE_BYTES_MAX}",
            data.len()
        )));
    }
    let all: usize = files.values().map(Vec::len).sum();
    if all > ALL_BYTES_MAX {
        return Err(large(format!("it has {all} bytes, more than {ALL_BYTES_MAX}")));
    }
    // File systems differ in what they take for the same name.
    let fold = |path: &String| path.nfkc().collect::<String>().to_lowercase();
    let folded: BTreeSet<String> = files.keys().map(fold).collect();
    if folded.len() != files.len() {
        return Err(SkillError::denied(
            "two of its files differ only in capital letters or in how a letter is written",
        ));
    }
    let is_folder = |path: &String| {
        let below = format!("{path}/");
        folded.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
    };
    if let Some(path) = folded.iter().find(|path| is_folder(path)) {
        return Err(SkillError::denied(format!("`{path}` is a file and a folder in it")));
    }
    Ok(())
}

/// A path inside an archive; refuses whatever means another place on any system.
pub(super) fn plain_path(path: &str) -> Result<String, SkillError> {
    let refused = || {
        let shown: String = path.chars().take(80).flat_map(char::escape_default).collect();
        SkillError::denied(format!(
            "`{shown}` in the archive leads elsewhere: nothing is installed"
        ))
    };
    let path = path.strip_prefix("./").unwrap_or(path);
    let odd = path.starts_with('/')
        || path.contains(['\\', '\0', ':'])
        || path.contains(char::is_control)
        || path.contains(is_invisible)
        || !is_nfc(path)
        || path.split('/').any(|part| part == "..");
    if odd {
        return Err(refused());
    }
    Ok(path.trim_end_matches('/').to_owned())
}

/// Letters that nobody sees, or that turn the others around.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn bomb() -> SkillError {
    SkillError::new("too_large", "the archive unpacks to far more than it is: nothing is installed")
}

/// The one skill of an archive's bytes: its folder's name and its files.
pub fn unpacked(
    bytes: &[u8],
    wanted: Option<&str>,
) -> Result<(String, BTreeMap<String, Vec<u8>>), SkillError> {
    of_archive(bytes)?.skill(wanted)
}
