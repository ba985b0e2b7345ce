//! What a skill's folder holds, as one number: consent and pins are given to it, not to a name.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::SkillError;

/// More than any skill has; a folder beyond it is not one that a person could have looked at.
const FILES_MAX: usize = 1000;
const BYTES_MAX: u64 = 64 << 20;

/// The SHA-256 of a folder: of its paths and of what is in them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

impl Digest {
    /// As hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The files below a folder by their relative path with `/`, without version control and caches.
/// Refuses links and anything that is neither file nor folder: nobody could say what they hold.
pub fn files_of(folder: &Path) -> Result<BTreeMap<String, PathBuf>, SkillError> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = waiting.pop() {
        let entries = fs::read_dir(&folder);
        let entries = entries.map_err(|error| SkillError::disk("read", &folder, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| SkillError::disk("read", &folder, &error))?;
            let kind = entry.file_type();
            let kind = kind.map_err(|error| SkillError::disk("read", &folder, &error))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                return Err(SkillError::bad(format!(
                    "`{}` holds an unreadable name",
                    folder.display()
                )));
            };
            if is_passed_over(name) {
                continue;
            }
            let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            if kind.is_dir() {
                waiting.push((entry.path(), path));
            } else if kind.is_file() {
                found.insert(path, entry.path());
            } else {
                let what = if kind.is_symlink() { "a link" } else { "no plain file" };
                return Err(SkillError::denied(format!("`{path}` is {what}")));
            }
            if found.len() > FILES_MAX {
                return Err(SkillError::new("too_large", format!("more than {FILES_MAX} files")));
            }
        }
    }
    Ok(found)
}

/// Version control and caches, which come and go.
fn is_passed_over(name: &str) -> bool {
    matches!(name, ".git" | "__pycache__" | ".DS_Store")
}

/// The digest of a folder.
pub fn digest_of(folder: &Path) -> Result<Digest, SkillError> {
    let mut whole = Sha256::new();
    let mut left = BYTES_MAX;
    for (name, path) in files_of(folder)? {
        let (hash, length) = hash_file(&path, left)?;
        left = left.saturating_sub(length);
        whole.update(name.as_bytes());
        whole.update([0]);
        whole.update(hash);
    }
    Ok(Digest(hex(&whole.finalize())))
}

/// The digest that a folder with these files has.
pub(crate) fn digest_of_files(files: &BTreeMap<String, Vec<u8>>) -> Digest {
    let mut whole = Sha256::new();
    for (name, data) in files.iter().filter(|(name, _)| !name.split('/').any(is_passed_over)) {
        whole.update(name.as_bytes());
        whole.update([0]);
        whole.update(Sha256::digest(data));
    }
    Digest(hex(&whole.finalize()))
}

fn hash_file(path: &Path, most: u64) -> Result<(Vec<u8>, u64), SkillError> {
    let failed = |error| SkillError::disk("read", path, &error);
    let mut file = fs::File::open(path).map_err(failed)?.take(most + 1);
    let (mut hash, mut buffer, mut length) = (Sha256::new(), vec![0; 64 * 1024], 0_u64);
    loop {
        let count = file.read(&mut buffer).map_err(failed)?;
        if count == 0 {
            break;
        }
        length += count as u64;
        hash.update(buffer.get(..count).unwrap_or_default());
    }
    if length > most {
        return Err(SkillError::new("too_large", "the skill holds more than 64 MB"));
    }
    Ok((hash.finalize().to_vec(), length))
}

/// The digest of bytes, as hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _written = write!(text, "{byte:02x}");
    }
    text
}
