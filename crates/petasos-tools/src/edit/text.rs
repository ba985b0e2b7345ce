//! A file's text without byte order mark and carriage returns, and the way back.
//!
//! What is not changed keeps its very bytes: edits are made in the original text, at places that
//! were found in the plain one.

use std::borrow::Cow;
use std::ops::Range;

/// How a file writes its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// UTF-8 without a mark.
    Utf8,
    /// UTF-8 with a mark.
    Utf8Marked,
    /// UTF-16, the small end first.
    Utf16Little,
    /// UTF-16, the big end first.
    Utf16Big,
}

/// What a whole new text takes over from the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    encoding: Encoding,
    ends: Ends,
}

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// Most with a carriage return.
    Crlf,
    /// Most without.
    Plain,
    /// There is none.
    Unknown,
}

impl Manner {
    /// How these bytes are written, without a copy of them.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, NotText> {
        let is_wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
        if is_wide {
            let text = Text::new(bytes)?;
            return Ok(Self { encoding: text.encoding, ends: text.ends() });
        }
        let (encoding, rest) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => (Encoding::Utf8Marked, rest),
            None => (Encoding::Utf8, bytes),
        };
        let text = std::str::from_utf8(rest).map_err(|_| NotText)?;
        let is_plain = memchr::memchr(b'\r', rest).is_none();
        let ends = match (is_plain, memchr::memchr(b'\n', rest)) {
            (_, None) => Ends::Unknown,
            (true, Some(_)) => Ends::Plain,
            (false, Some(_)) => Text::of(encoding, text.to_owned()).ends(),
        };
        Ok(Self { encoding, ends })
    }

    /// A whole new text in this manner.
    pub(crate) fn text(self, content: String) -> Text {
        let content = match content.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => content,
        };
        Text::of(self.encoding, self.ends.applied(content))
    }
}

impl Ends {
    fn applied(self, text: String) -> String {
        let has_returns = memchr::memchr(b'\r', text.as_bytes()).is_some();
        match self {
            Self::Crlf => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            Self::Plain if has_returns => text.replace("\r\n", "\n"),
            Self::Plain | Self::Unknown => text,
        }
    }
}

/// A file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    encoding: Encoding,
    original: String,
    /// The text with plain line ends, when the original has others.
    plain: Option<String>,
    /// Where carriage returns were left out: before these places of the plain text, in order.
    returns: Vec<usize>,
}

/// The bytes are text in no encoding that could be written back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is neither UTF-8 nor UTF-16 text: change it with a program in the terminal")]
pub(crate) struct NotText;

impl Text {
    /// Reads a file's bytes.
    pub(crate) fn new(bytes: &[u8]) -> Result<Self, NotText> {
        let (encoding, original) = if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
            (Encoding::Utf8Marked, String::from_utf8(rest.to_vec()).map_err(|_| NotText)?)
        } else if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
            (Encoding::Utf16Little, utf16(rest, u16::from_le_bytes)?)
        } else if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
            (Encoding::Utf16Big, utf16(rest, u16::from_be_bytes)?)
        } else {
            (Encoding::Utf8, String::from_utf8(bytes.to_vec()).map_err(|_| NotText)?)
        };
        Ok(Self::of(encoding, original))
    }

    /// A new file's text.
    pub(crate) fn fresh(text: impl Into<String>) -> Self {
        Self::of(Encoding::Utf8, text.into())
    }

    fn of(encoding: Encoding, original: String) -> Self {
        let mut returns = Vec::new();
        if memchr::memchr(b'\r', original.as_bytes()).is_none() {
            return Self { encoding, original, plain: None, returns };
        }
        let mut plain = String::with_capacity(original.len());
        let mut pieces = original.split("\r\n").peekable();
        while let Some(piece) = pieces.next() {
            plain.push_str(piece);
            if pieces.peek().is_some() {
                returns.push(plain.len());
                plain.push('\n');
            }
        }
        Self { encoding, original, plain: Some(plain), returns }
    }

    /// The text with plain line ends.
    pub(crate) fn plain(&self) -> &str {
        self.plain.as_deref().unwrap_or(&self.original)
    }

    fn ends(&self) -> Ends {
        let lines = memchr::memchr_iter(b'\n', self.original.as_bytes()).count();
        match self.returns.len() * 2 > lines {
            true => Ends::Crlf,
            false if lines > 0 => Ends::Plain,
            false => Ends::Unknown,
        }
    }

    /// A place of the plain text, in the original one.
    fn original_at(&self, at: usize) -> usize {
        at + self.returns.partition_point(|before| *before < at)
    }

    /// The text with these places of the plain text replaced; they must not overlap.
    pub(crate) fn with(&self, edits: &[(Range<usize>, String)]) -> Self {
        let mut changed = String::with_capacity(self.original.len());
        let ends = self.ends();
        let mut from = 0;
        for (span, text) in edits {
            let (start, end) = (self.original_at(span.start), self.original_at(span.end));
            changed.push_str(self.original.get(from..start).unwrap_or_default());
            changed.push_str(&ends.applied(text.clone()));
            from = end;
        }
        changed.push_str(self.original.get(from..).unwrap_or_default());
        Self::of(self.encoding, changed)
    }

    /// The bytes of the file.
    pub(crate) fn bytes(&self) -> Cow<'_, [u8]> {
        let wide = |order: fn(u16) -> [u8; 2], mark: [u8; 2]| {
            let units = self.original.encode_utf16().flat_map(order);
            Cow::Owned(mark.into_iter().chain(units).collect())
        };
        match self.encoding {
            Encoding::Utf8 => Cow::Borrowed(self.original.as_bytes()),
            Encoding::Utf8Marked => {
                Cow::Owned([b"\xef\xbb\xbf", self.original.as_bytes()].concat())
            }
            Encoding::Utf16Little => wide(u16::to_le_bytes, [0xff, 0xfe]),
            Encoding::Utf16Big => wide(u16::to_be_bytes, [0xfe, 0xff]),
        }
    }
}

fn utf16(bytes: &[u8], order: fn([u8; 2]) -> u16) -> Result<String, NotText> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(NotText);
    }
    let units: Vec<u16> = pairs.iter().map(|pair| order(*pair)).collect();
    String::from_utf16(&units).map_err(|_| NotText)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_survives_a_round_trip() {
        for bytes in [
            &b"plain\n"[..],
            b"\xef\xbb\xbfmarked\r\n",
            b"\xff\xfea\0\r\0\n\0",
            b"\xfe\xff\0a\0\n",
            b"",
            b"mixed\r\nends\nand\rmore",
        ] {
            assert_eq!(*Text::new(bytes).unwrap().bytes(), *bytes);
        }
        assert_eq!(Text::new(b"caf\xe9"), Err(NotText));
        assert_eq!(Text::new(b"\xff\xfea"), Err(NotText));
    }

    #[test]
    fn edits_keep_every_other_byte_and_the_line_ends() {
        let text = Text::new(b"one\r\ntwo\r\nthree\r\nodd\n").unwrap();
        assert_eq!(text.plain(), "one\ntwo\nthree\nodd\n");
        let changed = text.with(&[(4..7, "2\nand a half".to_owned())]);
        assert_eq!(*changed.bytes(), *b"one\r\n2\r\nand a half\r\nthree\r\nodd\n");
        let changed = text.with(&[(3..4, " ".to_owned()), (13..14, "!".to_owned())]);
        assert_eq!(*changed.bytes(), *b"one two\r\nthree!odd\n");
        assert_eq!(*Text::fresh("a\r\nb".to_owned()).bytes(), *b"a\r\nb");
    }

    #[test]
    fn a_new_text_takes_over_how_the_old_one_was_written() {
        for (old, new, written) in [
            (&b"a\r\nb\r\n"[..], "a\nb\n", &b"a\r\nb\r\n"[..]),
            (b"a\nb\n", "a\r\nb", b"a\nb"),
            (b"a", "a\r\nb", b"a\r\nb"),
            (b"a\rb", "a\r\nb", b"a\r\nb"),
            (b"a\r\nb\nc\n", "x\ny", b"x\ny"),
            (b"\xef\xbb\xbfa\n", "\u{feff}b", b"\xef\xbb\xbfb"),
            (b"\xff\xfea\0\r\0\n\0", "b\n", b"\xff\xfeb\0\r\0\n\0"),
        ] {
            let text = Manner::of(old).unwrap().text(new.to_owned());
            assert_eq!(*text.bytes(), *written, "{old:?}");
        }
        assert_eq!(Manner::of(b"caf\xe9"), Err(NotText));
    }
}
