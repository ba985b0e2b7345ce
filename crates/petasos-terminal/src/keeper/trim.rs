//! Lets the keeper forget the heap it was born with.
//!
//! A fork copies the page tables of all that memory for every sitter, and would hold on to pages
//! that the program has long changed. The keeper uses no heap, so the pages can go. Left alone:
//! its stack, its thread storage, and zeroed data that belongs to a library.

use super::sys;

/// Left alone on either side of the stack pointer and of the thread's storage.
const KEPT_BYTES: usize = 256 * 1024;
/// Left alone after a library, where its zeroed data lies.
const ZEROED_DATA_BYTES: usize = 1024 * 1024;
/// The largest page of the machines we know; a smaller one divides it.
const PAGE_BYTES: usize = 64 * 1024;

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
fn consider(line: &[u8], used: &[usize; 2], file_end: &mut usize) {
    let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
    let mut range = fields.next().unwrap_or_default().split(|byte| *byte == b'-');
    let (start, end) = (hex(range.next()), hex(range.next()));
    let rights = fields.next().unwrap_or_default();
    let inode = fields.nth(2).unwrap_or_default();
    let name = fields.next().unwrap_or_default();
    if inode != b"0" {
        *file_end = end;
        return;
    }
    let heap = name.is_empty() || name == b"[heap]";
    if heap && rights == b"rw-p" {
        let zeroed_data = if start == *file_end { ZEROED_DATA_BYTES } else { 0 };
        forget_but(start.saturating_add(zeroed_data), end, used);
    }
}

/// Neighbouring mappings are merged, so that the stack in use may lie within the heap: a piece on
/// either side of each used address is left alone.
fn forget_but(start: usize, end: usize, used: &[usize; 2]) {
    let mut from = start;
    let [low, high] = if used[0] <= used[1] { *used } else { [used[1], used[0]] };
    for address in [low, high] {
        if (from..end).contains(&address) {
            forget_pages(from, address.saturating_sub(KEPT_BYTES));
            from = address.saturating_add(KEPT_BYTES);
        }
    }
    forget_pages(from, end);
}

fn forget_pages(from: usize, to: usize) {
    let (from, to) = (from.next_multiple_of(PAGE_BYTES), to / PAGE_BYTES * PAGE_BYTES);
    if from < to {
        sys::forget_pages(from, to);
    }
}

fn hex(text: Option<&[u8]>) -> usize {
    text.unwrap_or_default().iter().fold(0, |sum, byte| {
        sum << 4 | (*byte as char).to_digit(16).map_or(0, |digit| digit as usize)
    })
}
