//! Who may look into our own processes: their memory, descriptors and the variables they began with
//! can be read in `/proc` by whatever runs as the same user, unless they are hidden.

#![expect(unsafe_code, reason = "the variables that a process began with have no safe face")]

use std::ffi::CStr;
use std::os::raw::c_char;

use super::sys;

unsafe extern "C" {
    static environ: *const *mut c_char;
}

/// Nobody of this user may look into this process and its copies.
pub(crate) fn hide() {
    // With these two numbers it cannot fail.
    let _done = sys::prctl(libc::PR_SET_DUMPABLE, 0);
}

/// It may be looked at again, as the owner of its own files in `/proc`.
pub(super) fn show() {
    let _done = sys::prctl(libc::PR_SET_DUMPABLE, 1);
}

/// Overwrites all variables that this process began with. For a copy that needs none of them.
pub(super) fn forget_environment() {
    each_variable(|text| overwrite(text, 0));
}

/// Overwrites the values of some. For the program itself, before it has a second thread.
pub(crate) fn forget_values(is_secret: impl Fn(&[u8], &[u8]) -> bool) {
    each_variable(|text| {
        // SAFETY: each entry is a text with an ending zero.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        let Some(at) = bytes.iter().position(|byte| *byte == b'=') else { return };
        let (name, value) = (bytes.get(..at).unwrap_or_default(), bytes.get(at + 1..));
        if is_secret(name, value.unwrap_or_default()) {
            overwrite(text, at + 1);
        }
    });
}

/// Overwrites a part of some of the words that this process was started with. For the program
/// itself, once it has read them. `from` says where that part of a word begins, given the word
/// before it.
pub(crate) fn forget_words(from: impl Fn(&[u8], &[u8]) -> Option<usize>) {
    let Some((start, length)) = words_at() else { return };
    // SAFETY: the kernel says that the words of this process lie there, in memory that is its own,
    // and the content was compared with what it shows of them.
    let words = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, length) };
    let mut before: Vec<u8> = Vec::new();
    for word in words.split_mut(|byte| *byte == 0) {
        let own = word.to_vec();
        if let Some(secret) = from(&before, &own).and_then(|at| word.get_mut(at..)) {
            secret.fill(b'*');
        }
        before = own;
    }
}

/// Where the words lie: two of the numbers behind the name in brackets.
fn words_at() -> Option<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut numbers = stat.rsplit_once(')')?.1.split_whitespace().skip(45);
    let first: usize = numbers.next()?.parse().ok()?;
    let behind: usize = numbers.next()?.parse().ok()?;
    let shown = std::fs::read("/proc/self/cmdline").ok()?;
    let length = behind.checked_sub(first).filter(|length| *length == shown.len() && first != 0)?;
    // SAFETY: as long as the kernel's account of this process is right, which is compared.
    let lying = unsafe { std::slice::from_raw_parts(first as *const u8, length) };
    (lying == shown).then_some((first, length))
}

fn each_variable(act: impl Fn(*mut c_char)) {
    // SAFETY: set by the C library before any of our code, and never changed by this program.
    let mut at = unsafe { environ };
    while !at.is_null() {
        // SAFETY: the table ends with a null pointer, at which we stop.
        let text = unsafe { *at };
        if text.is_null() {
            return;
        }
        act(text);
        // SAFETY: the entry was not the last.
        at = unsafe { at.add(1) };
    }
}

/// Zeroes a text from some place on.
fn overwrite(text: *mut c_char, from: usize) {
    // SAFETY: the entry is a text with an ending zero in memory of this process alone, and the
    // place lies before that zero.
    unsafe {
        let start = text.add(from);
        libc::memset(start.cast(), 0, libc::strlen(start));
    }
}
