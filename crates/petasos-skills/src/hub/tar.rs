//! Reading tar archives: names, kinds and contents, within limits. Nothing is written.

use crate::error::SkillError;

const BLOCK: usize = 512;
const ENTRIES_MAX: usize = 20_000;

/// One entry.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) path: String,
    pub(super) kind: Kind,
    pub(super) data: &'a [u8],
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    Link,
    Device,
}

/// All entries of an archive.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, SkillError> {
    let broken = || SkillError::new("upstream", "the archive is damaged");
    let mut found = Vec::new();
    let mut at = 0;
    let mut long: Option<String> = None;
    while let Some(head) = bytes.get(at..at + BLOCK) {
        if head.iter().all(|byte| *byte == 0) {
            break;
        }
        let size = number(head.get(124..136).unwrap_or_default()).ok_or_else(broken)?;
        let data = bytes.get(at + BLOCK..at + BLOCK + size).ok_or_else(broken)?;
        let name = text(head.get(..100).unwrap_or_default());
        let prefix = text(head.get(345..500).unwrap_or_default());
        let ustar = head.get(257..262) == Some(b"ustar".as_slice());
        let full = if ustar && !prefix.is_empty() { format!("{prefix}/{name}") } else { name };
        match head.get(156).copied().unwrap_or_default() {
            b'L' => long = Some(text(data)),
            b'x' => long = pax_path(data).or(long),
            b'g' | b'K' => {}
            flag => {
                let kind = match flag {
                    b'0' | 0 | b'7' => Kind::File,
                    b'5' => Kind::Folder,
                    b'1' | b'2' => Kind::Link,
                    _ => Kind::Device,
                };
                found.push(Entry { path: long.take().unwrap_or(full), kind, data });
            }
        }
        if found.len() > ENTRIES_MAX {
            return Err(SkillError::new("too_large", "the archive has too many entries"));
        }
        at += BLOCK + size.div_ceil(BLOCK) * BLOCK;
    }
    Ok(found)
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// An octal number; larger ones than fit into the field have no place in a skill.
fn number(bytes: &[u8]) -> Option<usize> {
    let digits = text(bytes);
    let digits = digits.trim();
    if digits.is_empty() {
        return Some(0);
    }
    usize::from_str_radix(digits, 8).ok().filter(|size| *size < 1 << 30)
}

/// `path` of an extended header: lines of a length, a name and a value.
fn pax_path(data: &[u8]) -> Option<String> {
    let whole = String::from_utf8_lossy(data);
    let line = whole.lines().find_map(|line| line.split_once(' ')?.1.strip_prefix("path="));
    line.map(str::to_owned)
}
