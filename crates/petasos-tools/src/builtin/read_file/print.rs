//! Takes a file's fingerprint while it is read, so that nothing is read twice.

use std::hash::Hasher;
use std::io::{self, Read};

use twox_hash::XxHash3_64;

/// Longer files are recognised by size and time.
const BYTES_MAX: u64 = 16 << 20;

/// A reader that remembers what went through it.
pub(super) struct Printed<R> {
    inner: R,
    hasher: XxHash3_64,
    bytes: u64,
}

impl<R: Read> Printed<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, hasher: XxHash3_64::new(), bytes: 0 }
    }

    /// The same number as in `Fingerprint::of` all bytes, when they were few enough.
    pub(super) fn content(&self) -> Option<u64> {
        (self.bytes <= BYTES_MAX).then(|| self.hasher.finish())
    }
}

impl<R: Read> Read for Printed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(into)?;
        self.bytes += length as u64;
        if self.bytes <= BYTES_MAX {
            self.hasher.write(into.get(..length).unwrap_or_default());
        }
        Ok(length)
    }
}
