//! The pages of a database file as they are, with what its write-ahead log adds: the part of
//! SQLite's file format that is needed to find rows where SQLite itself gives up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rusqlite::types::Value;

/// The size of a page when the file does not say.
const USUAL_SIZE: usize = 4096;
/// Before the first page's own content.
const FILE_HEADER: usize = 100;
const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// A row as it lies in a page.
#[derive(Debug)]
pub(super) struct Record {
    /// Its number; zero in a table without one.
    pub(super) rowid: i64,
    /// Its columns; those that were added to the table later may be missing.
    pub(super) values: Vec<Value>,
}

/// What a page is, where it is one of a tree.
enum Kind {
    TableLeaf,
    TableInner,
    IndexLeaf,
    IndexInner,
}

impl Kind {
    /// How long the head of such a page is.
    fn header(&self) -> usize {
        if matches!(self, Self::TableInner | Self::IndexInner) { 12 } else { 8 }
    }
}

/// The file and its log.
pub(super) struct Pages {
    file: File,
    size: usize,
    usable: usize,
    count: u32,
    log: BTreeMap<u32, Vec<u8>>,
}

/// What was found on the way through a tree.
#[derive(Default)]
pub(super) struct Walk {
    /// Pages that were looked at, those that could not be read too.
    pub(super) seen: BTreeSet<u32>,
    /// How many could not be read.
    pub(super) bad: u64,
    /// Rows of which only a part could be read.
    pub(super) torn: u64,
}

impl Pages {
    /// Of this file, with this log.
    pub(super) fn new(file: File, log: &[u8]) -> io::Result<Self> {
        let mut head = [0_u8; FILE_HEADER];
        let length = file.metadata()?.len();
        let read = file.read_at(&mut head, 0)?;
        let is_whole = read == FILE_HEADER && head.starts_with(b"SQLite format 3\0");
        let said = if is_whole { usize::from(u16::from_be_bytes([head[16], head[17]])) } else { 0 };
        let size = match said {
            1 => 65_536,
            size if size >= 512 && size.is_power_of_two() => size,
            _ => USUAL_SIZE,
        };
        let reserved = if is_whole { usize::from(head[20]) } else { 0 };
        let mut pages =
            Self { file, size, usable: size - reserved, count: 0, log: BTreeMap::new() };
        pages.replay(log);
        let in_file = u32::try_from(length.div_ceil(size as u64)).unwrap_or(u32::MAX);
        let in_log = pages.log.keys().next_back().copied().unwrap_or_default();
        pages.count = in_file.max(in_log);
        Ok(pages)
    }

    /// How many pages there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Takes the committed frames of the log, as far as their sums are right.
    fn replay(&mut self, log: &[u8]) {
        let Some((head, mut rest)) = log.split_at_checked(WAL_HEADER) else { return };
        let big = match word(head, 0) {
            Some(0x377f_0682) => false,
            Some(0x377f_0683) => true,
            _ => return,
        };
        let (head_sum, salts) = (head.get(..24).unwrap_or_default(), head.get(16..24));
        let mut sum = checksum((0, 0), head_sum, big);
        let mut open = BTreeMap::new();
        while let Some((frame, behind)) = rest.split_at_checked(FRAME_HEADER + self.size) {
            rest = behind;
            let (meta, page) = frame.split_at(FRAME_HEADER);
            sum = checksum(checksum(sum, meta.get(..8).unwrap_or_default(), big), page, big);
            let stated = word(meta, 16).zip(word(meta, 20));
            if meta.get(8..16) != salts || stated != Some(sum) {
                return;
            }
            open.insert(word(meta, 0).unwrap_or_default(), page.to_vec());
            if word(meta, 4).unwrap_or_default() != 0 {
                self.log.append(&mut open);
            }
        }
    }

    /// A page; what lies behind the end of the file is zero.
    fn page(&self, number: u32) -> Option<Vec<u8>> {
        if number == 0 || number > self.count {
            return None;
        }
        if let Some(page) = self.log.get(&number) {
            return Some(page.clone());
        }
        let mut page = vec![0; self.size];
        let mut at = 0;
        while at < self.size {
            let from = u64::from(number - 1) * self.size as u64 + at as u64;
            match self.file.read_at(page.get_mut(at..)?, from) {
                Ok(0) => break,
                Ok(read) => at += read,
                Err(_) => return None,
            }
        }
        (at > 0).then_some(page)
    }

    /// Goes through a tree and gives its rows; what cannot be read is counted and left out.
    pub(super) fn walk(&self, root: u32, walk: &mut Walk, take: &mut dyn FnMut(Record)) {
        let mut open = vec![root];
        while let Some(number) = open.pop() {
            if !walk.seen.insert(number) {
                continue;
            }
            let found = self.page(number).and_then(|page| Some((self.kind(number, &page)?, page)));
            let Some((kind, page)) = found else {
                walk.bad += 1;
                continue;
            };
            if matches!(kind, Kind::TableInner | Kind::IndexInner) {
                open.extend(word(&page, base(number) + 8));
            }
            for at in self.cells(number, &page) {
                if matches!(kind, Kind::TableInner | Kind::IndexInner) {
                    open.extend(word(&page, at));
                }
                if !matches!(kind, Kind::TableInner) {
                    match self.record(&page, at, &kind) {
                        Some(record) => take(record),
                        None => walk.torn += 1,
                    }
                }
            }
        }
    }

    /// The rows of one page, if it is the leaf of a tree.
    pub(super) fn leaf(&self, number: u32) -> Vec<Record> {
        let Some(page) = self.page(number) else { return Vec::new() };
        match self.kind(number, &page) {
            Some(kind @ (Kind::TableLeaf | Kind::IndexLeaf)) => {
                let records = self.cells(number, &page).into_iter();
                records.filter_map(|at| self.record(&page, at, &kind)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The pages that hold nothing; `None` when the list of them cannot be read.
    pub(super) fn free(&self) -> Option<BTreeSet<u32>> {
        let head = self.page(1)?;
        if !head.starts_with(b"SQLite format 3\0") {
            return None;
        }
        let (mut trunk, mut free) = (word(&head, 32)?, BTreeSet::new());
        while trunk != 0 {
            let page = self.page(trunk)?;
            if !free.insert(trunk) {
                return None;
            }
            let count = usize::try_from(word(&page, 4)?).ok()?;
            if count > self.usable / 4 {
                return None;
            }
            for at in 0..count {
                free.insert(word(&page, 8 + at * 4)?);
            }
            trunk = word(&page, 0)?;
        }
        Some(free)
    }

    /// What the page is, if what it says of itself is possible.
    fn kind(&self, number: u32, page: &[u8]) -> Option<Kind> {
        let base = base(number);
        let kind = match page.get(base)? {
            0x0d => Kind::TableLeaf,
            0x05 => Kind::TableInner,
            0x0a => Kind::IndexLeaf,
            0x02 => Kind::IndexInner,
            _ => return None,
        };
        let header = kind.header();
        let cells = usize::from(short(page, base + 3)?);
        (base + header + cells * 2 <= self.usable).then_some(kind)
    }

    fn cells(&self, number: u32, page: &[u8]) -> Vec<usize> {
        let base = base(number);
        let Some(kind) = self.kind(number, page) else { return Vec::new() };
        let count = usize::from(short(page, base + 3).unwrap_or_default());
        let from = base + kind.header();
        let cells = (0..count).filter_map(|at| Some(usize::from(short(page, from + at * 2)?)));
        cells.filter(|at| *at < self.usable).collect()
    }

    fn record(&self, page: &[u8], mut at: usize, kind: &Kind) -> Option<Record> {
        if matches!(kind, Kind::IndexInner) {
            at += 4;
        }
        let length = usize::try_from(varint(page, &mut at)?).ok()?;
        let is_table = matches!(kind, Kind::TableLeaf);
        let rowid = if is_table { varint(page, &mut at)? } else { 0 };
        let local = self.local(length, is_table);
        let mut payload = page.get(at..at + local)?.to_vec();
        if payload.len() < length {
            let mut next = word(page, at + local)?;
            let mut chain = BTreeSet::new();
            while payload.len() < length {
                let more = self.page(next).filter(|_| chain.insert(next))?;
                let most = (length - payload.len()).min(self.usable - 4);
                payload.extend(more.get(4..4 + most)?);
                next = word(&more, 0)?;
            }
        }
        Some(Record { rowid, values: values(&payload)? })
    }

    /// How much of a row lies in its page; the rest is in a chain of others.
    fn local(&self, length: usize, is_table: bool) -> usize {
        let usable = self.usable;
        let most = if is_table { usable - 35 } else { (usable - 12) * 64 / 255 - 23 };
        if length <= most {
            return length;
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (usable - 4);
        if fitting <= most { fitting } else { least }
    }
}

fn base(number: u32) -> usize {
    if number == 1 { FILE_HEADER } else { 0 }
}

/// The columns of a row.
fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let mut at = 0;
    let header = usize::try_from(varint(payload, &mut at)?).ok()?;
    let (mut body, mut values) = (header, Vec::new());
    while at < header {
        let kind = varint(payload, &mut at)?;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => usize::try_from(kind).ok()?,
            5 => 6,
            6 | 7 => 8,
            12.. => usize::try_from((kind - 12) / 2).ok()?,
            _ => return None,
        };
        let bytes = payload.get(body..body.checked_add(length)?)?;
        body += length;
        values.push(match kind {
            0 => Value::Null,
            8 => Value::Integer(0),
            9 => Value::Integer(1),
            7 => Value::Real(f64::from_be_bytes(bytes.try_into().ok()?)),
            1..=6 => Value::Integer(integer(bytes)),
            _ if kind % 2 == 0 => Value::Blob(bytes.to_vec()),
            _ => Value::Text(String::from_utf8(bytes.to_vec()).ok()?),
        });
    }
    Some(values)
}

/// A number of any length, its sign in the first bit.
fn integer(bytes: &[u8]) -> i64 {
    let sign = if bytes.first().is_some_and(|first| *first >= 0x80) { -1 } else { 0 };
    bytes.iter().fold(sign, |number, byte| (number << 8) | i64::from(*byte))
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let mut number: u64 = 0;
    for count in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if count == 8 {
            number = (number << 8) | u64::from(byte);
            break;
        }
        number = (number << 7) | u64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(number.cast_signed())
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The sum of the log, over pairs of words.
fn checksum(mut sum: (u32, u32), bytes: &[u8], big: bool) -> (u32, u32) {
    let read = |bytes: &[u8]| {
        let word = bytes.try_into().unwrap_or_default();
        if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    };
    for pair in bytes.chunks_exact(8) {
        let (first, second) = pair.split_at(4);
        sum.0 = sum.0.wrapping_add(read(first)).wrapping_add(sum.1);
        sum.1 = sum.1.wrapping_add(read(second)).wrapping_add(sum.0);
    }
    sum
}
