//! Lets the keeper forget the heap it was born with.
//!
//! A fork copies the page tables of all that memory for every sitter, and would hold on to pages
//! that the program has long changed. The keeper uses no heap, so the pages can go. Left alone:
//! its stack, its thread storage, and zeroed data that belongs to a library.

use super::sys;

/// Frees the pages of every private anonymous mapping but those still in use.
pub(super) fn forget_heap() {
    let here = 0_u8;
    let used = [&raw const here as usize, sys::thread_storage()];
    let maps = sys::open(c"/proc/self/maps", libc::O_RDONLY);
    if maps < 0 {
        return;
    }
    let mut buffer = [0_u8; 4096];
    let (mut filled, mut file_end) = (0, 0);
    while let Some(free) = buffer.get_mut(filled..) {
        let got = usize::try_from(sys::read(maps, free)).unwrap_or(0);
        if got == 0 {
            break;
        }
        filled += got;
        let mut start = 0;
        while let Some(line) = line_at(buffer.get(start..filled).unwrap_or_default()) {
            consider(line, &used, &mut file_end);
            start += line.len() + 1;
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
    }
    sys::close(maps);
}

fn line_at(bytes: &[u8]) -> Option<&[u8]> {
    bytes.iter().position(|byte| *byte == b'\n').and_then(|end| bytes.get(..end))
}

/// `start-end rw-p offset device inode name`
fn consider(line: &[u8], used: &[usize], file_end: &mut usize) {
    let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let mut range = fields.next().unwrap_or_default().split(|byte| *byte == b'-');
    let (start, end) = (hex(range.next()), hex(range.next()));
    let rights = fields.next().unwrap_or_default();
    let inode = fields.nth(2).unwrap_or_default();
    let name = fields.next().unwrap_or_default();
    let belongs_to_file = inode != b"0" || start == *file_end;
    if belongs_to_file {
        *file_end = end;
        return;
    }
    let heap = name.is_empty() || name == b"[heap]";
    let in_use = used.iter().any(|address| (start..end).contains(address));
    if heap && rights == b"rw-p" && !in_use {
        sys::forget_pages(start, end);
    }
}

fn hex(text: Option<&[u8]>) -> usize {
    text.unwrap_or_default().iter().fold(0, |sum, byte| {
        sum << 4 | (*byte as char).to_digit(16).map_or(0, |digit| digit as usize)
    })
}
