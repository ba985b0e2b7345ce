//! In which letters a page is written: what the header says, what the page says, what it looks like.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

/// Decodes a page. A byte order mark wins, then the header, then the page's own word.
pub(crate) fn decode(bytes: &[u8], declared: Option<&str>) -> String {
    let by_header = declared.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return encoding.decode(bytes).0.into_owned();
    }
    let strict = std::str::from_utf8(bytes);
    let encoding = match (by_header, strict) {
        // A header that says UTF-8 and lies is as common as one that is right.
        (Some(encoding), _) if encoding != UTF_8 => {
            let (text, _, is_bad) = encoding.decode(bytes);
            match strict {
                Ok(plain) if is_bad || (is_single_byte(encoding) && !plain.is_ascii()) => {
                    return plain.to_owned();
                }
                Ok(_) | Err(_) => return text.into_owned(),
            }
        }
        (_, Ok(plain)) => return plain.to_owned(),
        (_, Err(_)) => by_meta(bytes).unwrap_or(WINDOWS_1252),
    };
    encoding.decode(bytes).0.into_owned()
}

fn is_single_byte(encoding: &'static Encoding) -> bool {
    encoding.is_single_byte()
}

/// The word of the page itself, within its first kilobyte.
fn by_meta(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..bytes.len().min(1024)).unwrap_or_default();
    let text = String::from_utf8_lossy(head).to_ascii_lowercase();
    let (_, after) = text.split_once("charset=").or_else(|| text.split_once("encoding="))?;
    let label = after.trim_start_matches(['"', '\'']);
    let label =
        label.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).next()?;
    let found = Encoding::for_label(label.as_bytes())?;
    (found != UTF_8).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_in_their_own_letters() {
        let (cyrillic, ..) = encoding_rs::WINDOWS_1251.encode("Привет");
        let (japanese, ..) = encoding_rs::SHIFT_JIS.encode("こんにちは");
        assert_eq!(decode(&cyrillic, Some("windows-1251")), "Привет");
        assert_eq!(decode(&japanese, Some("shift_jis")), "こんにちは");
        let mut with_meta = b"<meta charset=windows-1251>".to_vec();
        with_meta.extend_from_slice(&cyrillic);
        assert!(decode(&with_meta, None).ends_with("Привет"));
        assert_eq!(decode("grüß".as_bytes(), Some("iso-8859-1")), "grüß");
        assert_eq!(decode(b"gr\xfc\xdf", None), "grüß");
        let utf16: Vec<u8> = [0xff, 0xfe]
            .into_iter()
            .chain("hé".encode_utf16().flat_map(u16::to_le_bytes))
            .collect();
        assert_eq!(decode(&utf16, None), "hé");
    }
}
