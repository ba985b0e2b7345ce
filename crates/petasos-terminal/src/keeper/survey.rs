//! Finds every descendant of this process by reading `/proc`, without allocating.
//!
//! Sitters are subreapers, so whatever leaves its session, group or parent still hangs below
//! them. Reading all of `/proc` works on kernels that do not list children.

use super::sys;

/// How the names of keepers and sitters begin; a fresh sitter still has its keeper's.
const OUR_NAMES: &[u8] = b" (petasos-";

/// One process of the machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pid: i32,
    parent: i32,
    ours: bool,
    is_sitter: bool,
}

/// More processes than this are seen in the next round, after these are gone.
pub(super) const ROWS_MAX: usize = 16_384;

/// Calls `act` for each living descendant of this process and says how many there were.
pub(super) fn descendants(rows: &mut [Row], act: &mut dyn FnMut(i32)) -> usize {
    let count = list(rows);
    let Some(rows) = rows.get_mut(..count) else { return 0 };
    mark(rows, sys::getpid());
    let mut found = 0;
    for row in rows.iter().filter(|row| row.ours) {
        act(row.pid);
        found += 1;
    }
    found
}

/// Calls `act` for each descendant of this process that is below none of its sitters.
pub(super) fn orphans(rows: &mut [Row], act: &mut dyn FnMut(i32)) {
    let count = list(rows);
    let Some(rows) = rows.get_mut(..count) else { return };
    let me = sys::getpid();
    // A program that takes a sitter's name gains what any daemon has: a life of its own.
    rows.iter_mut().filter(|row| row.is_sitter).for_each(|row| row.parent = -1);
    mark(rows, me);
    rows.iter().filter(|row| row.ours).for_each(|row| act(row.pid));
}

/// A child may be listed before its parent, hence rounds until nothing changes.
fn mark(rows: &mut [Row], root: i32) {
    let mut changed = true;
    while changed {
        changed = false;
        for at in 0..rows.len() {
            let Some(row) = rows.get(at).copied() else { return };
            let below = row.parent == root
                || rows.iter().any(|other| other.ours && other.pid == row.parent);
            if !row.ours && below {
                if let Some(row) = rows.get_mut(at) {
                    row.ours = true;
                }
                changed = true;
            }
        }
    }
}

fn list(rows: &mut [Row]) -> usize {
    let proc = sys::open(c"/proc", libc::O_RDONLY | libc::O_DIRECTORY);
    if proc < 0 {
        return 0;
    }
    let mut count = 0;
    let mut buffer = [0_u8; 8192];
    loop {
        let got = usize::try_from(sys::entries(proc, &mut buffer)).unwrap_or(0);
        let Some(mut rest) = buffer.get(..got).filter(|rest| !rest.is_empty()) else { break };
        while let Some((name, tail)) = entry(rest) {
            rest = tail;
            let Some(pid) = number(name) else { continue };
            let Some((parent, is_sitter)) = parent_of(name) else { continue };
            if let Some(row) = rows.get_mut(count) {
                *row = Row { pid, parent, ours: false, is_sitter };
                count += 1;
            }
        }
    }
    sys::close(proc);
    count
}

/// The name of the first entry and the entries after it.
fn entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = usize::from(u16::from_ne_bytes(bytes.get(16..18)?.try_into().ok()?));
    let name = bytes.get(19..length)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    Some((name.get(..end)?, bytes.get(length..)?))
}

fn number(text: &[u8]) -> Option<i32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_i32, |sum, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        sum.checked_mul(10)?.checked_add(i32::from(digit))
    })
}

/// The parent, from the second field after the name, which may hold spaces and brackets. The
/// dead who wait to be reaped are left out.
fn parent_of(pid: &[u8]) -> Option<(i32, bool)> {
    let mut path = [0_u8; 32];
    let parts: [&[u8]; 3] = [b"/proc/", pid, b"/stat"];
    for (at, byte) in parts.into_iter().flatten().enumerate() {
        *path.get_mut(at)? = *byte;
    }
    let path = std::ffi::CStr::from_bytes_until_nul(&path).ok()?;
    let fd = sys::open(path, libc::O_RDONLY);
    if fd < 0 {
        return None;
    }
    let mut text = [0_u8; 512];
    let got = sys::read(fd, &mut text);
    sys::close(fd);
    let text = text.get(..usize::try_from(got).ok()?)?;
    let after = text.iter().rposition(|byte| *byte == b')')? + 2;
    let mut fields = text.get(after..)?.split(|byte| *byte == b' ');
    let state = fields.next()?;
    if state == b"Z" || state == b"X" {
        return None;
    }
    let is_sitter = text.windows(OUR_NAMES.len()).any(|name| name == OUR_NAMES);
    Some((number(fields.next()?)?, is_sitter))
}
