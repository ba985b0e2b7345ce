//! The key of a display, from the file where the session put it.

use std::path::Path;

const LOCAL: u16 = 256;
const WILD: u16 = 65_535;

/// The name and the data of the key for a display of this machine.
pub(super) fn find(file: Option<&Path>, display: u32) -> Option<(Vec<u8>, Vec<u8>)> {
    entry(&std::fs::read(file?).ok()?, display)
}

fn entry(mut bytes: &[u8], display: u32) -> Option<(Vec<u8>, Vec<u8>)> {
    let wanted = display.to_string();
    while !bytes.is_empty() {
        let family = short(&mut bytes)?;
        let (_host, number) = (field(&mut bytes)?, field(&mut bytes)?);
        let (name, data) = (field(&mut bytes)?, field(&mut bytes)?);
        let is_ours = number.is_empty() || number == wanted.as_bytes();
        if is_ours && matches!(family, LOCAL | WILD) {
            return Some((name.to_vec(), data.to_vec()));
        }
    }
    None
}

fn short(bytes: &mut &[u8]) -> Option<u16> {
    let (taken, left) = bytes.split_at_checked(2)?;
    *bytes = left;
    Some(u16::from_be_bytes(taken.try_into().ok()?))
}

fn field<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::from(short(bytes)?);
    let (taken, left) = bytes.split_at_checked(length)?;
    *bytes = left;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_display_is_found() {
        let mut file = Vec::new();
        for (number, data) in [("1", "one"), ("99", "two")] {
            file.extend(LOCAL.to_be_bytes());
            for text in ["host", number, "MIT-MAGIC-COOKIE-1", data] {
                file.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
                file.extend(text.as_bytes());
            }
        }
        let found = entry(&file, 99).unwrap();
        assert_eq!(
            (found.0.as_slice(), found.1.as_slice()),
            (&b"MIT-MAGIC-COOKIE-1"[..], &b"two"[..])
        );
        assert_eq!(entry(&file, 5), None);
        assert_eq!(entry(file.get(..20).unwrap(), 99), None, "a file that is cut off");
    }
}
