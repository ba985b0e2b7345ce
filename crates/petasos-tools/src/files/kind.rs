//! Telling text from everything else: first by the name, then by the first bytes.

use std::path::Path;

/// What a file seems to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Text in UTF-8 or something close to it.
    Text,
    /// Text in UTF-16, by its byte order mark.
    Utf16,
    /// A picture.
    Image,
    /// Anything else.
    Binary,
}

/// How many bytes are looked at.
pub(crate) const SAMPLE_BYTES: usize = 1000;

const IMAGES: &[&str] =
    &["png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "ico", "heic", "heif", "avif"];

/// Only names that never mean text: of the others the content tells.
const BINARIES: &[&str] = &[
    "7z", "aac", "avi", "bz2", "class", "db", "deb", "dll", "dmg", "doc", "docx", "dylib", "eot",
    "exe", "flac", "gz", "iso", "jar", "m4a", "mkv", "mov", "mp3", "mp4", "odt", "ogg", "otf",
    "parquet", "pdf", "pickle", "pkl", "ppt", "pptx", "pyc", "pyd", "pyo", "rar", "rlib", "rpm",
    "so", "sqlite", "sqlite3", "tar", "tgz", "ttf", "war", "wasm", "wav", "webm", "whl", "woff",
    "woff2", "xls", "xlsx", "xz", "zip", "zst",
];

/// Judges by the extension; `None` when only the content can tell.
pub(crate) fn by_name(path: &Path) -> Option<Kind> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let is_in = |list: &[&str]| list.contains(&extension.as_str());
    if is_in(IMAGES) {
        return Some(Kind::Image);
    }
    is_in(BINARIES).then_some(Kind::Binary)
}

/// Judges by the first bytes of the file.
pub(crate) fn by_content(sample: &[u8]) -> Kind {
    if sample.starts_with(&[0xff, 0xfe]) || sample.starts_with(&[0xfe, 0xff]) {
        return Kind::Utf16;
    }
    let text = String::from_utf8_lossy(sample);
    // Text in an old 8-bit encoding is full of bytes that are no UTF-8, but it has no NUL;
    // compressed data has both.
    let has_nul = memchr::memchr(0, sample).is_some();
    let is_odd = |letter: char| match letter {
        '\t' | '\n' | '\r' | '\u{8}' | '\u{c}' | '\u{1b}' => false,
        char::REPLACEMENT_CHARACTER => has_nul,
        other => other.is_control(),
    };
    let odd = text.chars().filter(|letter| is_odd(*letter)).count();
    if odd * 10 > text.chars().count() * 3 { Kind::Binary } else { Kind::Text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_judged_by_its_share_of_control_characters() {
        let compressed: Vec<u8> = (0..=255).cycle().step_by(167).take(1000).collect();
        for (sample, kind) in [
            (&b""[..], Kind::Text),
            (b"plain\r\n\ttext\n", Kind::Text),
            (b"\x1b[31mred\x1b[0m", Kind::Text),
            (b"\xcf\xf0\xe8\xe2\xe5\xf2", Kind::Text),
            (b"one nul\0 in a text", Kind::Text),
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0", Kind::Binary),
            (&compressed, Kind::Binary),
            (b"\xff\xfea\0b\0", Kind::Utf16),
        ] {
            assert_eq!(by_content(sample), kind, "{sample:?}");
        }
    }

    #[test]
    fn names_are_judged_whatever_their_case() {
        assert_eq!(by_name(Path::new("a.PNG")), Some(Kind::Image));
        assert_eq!(by_name(Path::new("a.tar.gz")), Some(Kind::Binary));
        assert_eq!(by_name(Path::new("a.svg")), None);
        assert_eq!(by_name(Path::new("Makefile")), None);
    }
}
