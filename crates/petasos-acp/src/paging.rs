//! Cursors of lists: opaque, signed, good for one connection.

use sha2::{Digest as _, Sha256};

/// So many sessions are on a page.
pub(crate) const PAGE: usize = 50;

/// A key that nobody else has.
pub(crate) fn secret() -> [u8; 32] {
    let mut secret = [0_u8; 32];
    // Without randomness the cursors are only hard to guess, which nothing rests on.
    if getrandom::fill(&mut secret).is_err() {
        secret = Sha256::digest(std::process::id().to_le_bytes()).into();
    }
    secret
}

/// The cursor of a place in a list.
pub(crate) fn cursor(place: usize, secret: &[u8; 32]) -> String {
    format!("{place}.{}", signature(place, secret))
}

/// The place of a cursor; nothing when it is not one of ours.
pub(crate) fn place(cursor: &str, secret: &[u8; 32]) -> Option<usize> {
    let (place, signed) = cursor.split_once('.')?;
    let place = place.parse().ok()?;
    (signature(place, secret) == signed).then_some(place)
}

fn signature(place: usize, secret: &[u8; 32]) -> String {
    let mut hash = Sha256::new();
    hash.update(secret);
    hash.update(place.to_le_bytes());
    hex(hash.finalize().get(..12).unwrap_or_default())
}

/// Bytes as text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_and_another_ones_does_not() {
        let secret = [7; 32];
        assert_eq!(place(&cursor(50, &secret), &secret), Some(50));
        for bad in ["", "50", "50.", "50.00", "x.y", &cursor(50, &[8; 32])] {
            assert_eq!(place(bad, &secret), None, "{bad}");
        }
    }
}
