//! Random names, from the system's own source of randomness.

use std::fs::File;
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

/// So many random bytes as hexadecimal digits.
pub fn hex(bytes: usize) -> String {
    let mut random = vec![0_u8; bytes];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut random));
    if read.is_err() {
        // Names must differ, not be secret: the clock does where the device is hidden.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        for (slot, byte) in random.iter_mut().zip(now.as_nanos().to_le_bytes()) {
            *slot = byte;
        }
    }
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('0');
    random.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
