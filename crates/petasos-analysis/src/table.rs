//! Look-up tables of program names, known when we are built. Their hash is quick and
//! not keyed: nobody outside can add a name, so nobody can make names collide.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by program name.
pub(crate) type Table<V> = HashMap<&'static str, V, BuildHasherDefault<Quick>>;

/// FNV-1a.
#[derive(Debug)]
pub(crate) struct Quick(u64);

impl Default for Quick {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // A name longer than any we know is told apart by its first part as well.
        for byte in bytes.iter().take(64) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
