//! One line as the model sees it: decoded, without its ending, never longer than asked.

/// What stands at the end of a line that was cut.
pub(crate) const CUT: &str = "… [line cut]";

/// Bytes that are enough for so many characters, whatever they are.
pub(crate) fn bytes_for(chars: usize) -> usize {
    // A character takes at most four bytes, and a broken one at the end is never reached.
    chars.saturating_mul(4).saturating_add(4)
}

/// Decodes the beginning of a line; says whether anything was left out.
///
/// `bytes` may itself be only the beginning, if it has at least `bytes_for(chars_max)`.
pub(crate) fn decoded(bytes: &[u8], chars_max: usize) -> (String, bool) {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let enough = bytes.get(..bytes_for(chars_max)).unwrap_or(bytes);
    let text = String::from_utf8_lossy(enough);
    match text.char_indices().nth(chars_max).and_then(|(end, _)| text.get(..end)) {
        Some(kept) => (format!("{kept}{CUT}"), true),
        None => (text.into_owned(), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_loses_its_ending_and_what_is_too_long() {
        for (bytes, shown, is_cut) in [
            (&b"abc\r\n"[..], "abc", false),
            (b"abc\n", "abc", false),
            (b"a\rb", "a\rb", false),
            (b"abcde", "abcde", false),
            (b"abcdef", "abcde… [line cut]", true),
            ("ééééé".as_bytes(), "ééééé", false),
            ("éééééé".as_bytes(), "ééééé… [line cut]", true),
            (b"a\xffb", "a\u{fffd}b", false),
            (b"", "", false),
        ] {
            assert_eq!(decoded(bytes, 5), (shown.to_owned(), is_cut));
        }
    }
}
