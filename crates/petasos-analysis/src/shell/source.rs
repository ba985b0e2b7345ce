//! A piece of shell text and where it came from, so that a place found in text
//! that was unwrapped three times still points into what the user typed.

/// A range of bytes in the command as it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The text of this span, if it is one of `text`.
    pub fn of<'a>(&self, text: &'a str) -> Option<&'a str> {
        text.get(self.start as usize..self.end as usize)
    }
}

/// A range of bytes in one [`Source`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Cut {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: narrow(start), end: narrow(end) }
    }
}

/// Offsets are kept in 32 bits; a command of 4 GiB is refused long before.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// How offsets in a source relate to the original command.
#[derive(Debug)]
enum Base {
    /// Same offsets, moved by a constant.
    Shifted(u32),
    /// Offset of each byte, with one more entry for the end.
    Mapped(Vec<u32>),
    /// The text was computed; everything in it stands at this span.
    Within(Span),
}

/// Text to parse, with its origin.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) text: Box<str>,
    base: Base,
}

impl Source {
    pub(crate) fn original(text: &str) -> Self {
        Self { text: text.into(), base: Base::Shifted(0) }
    }

    pub(crate) fn mapped(text: String, map: Vec<u32>) -> Self {
        Self { text: text.into(), base: Base::Mapped(map) }
    }

    pub(crate) fn within(text: String, span: Span) -> Self {
        Self { text: text.into(), base: Base::Within(span) }
    }

    /// Text that stands unchanged in the original, `offset` bytes in.
    pub(crate) fn shifted(text: String, offset: u32) -> Self {
        Self { text: text.into(), base: Base::Shifted(offset) }
    }

    pub(crate) fn get(&self, cut: Cut) -> &str {
        self.text.get(cut.start as usize..cut.end as usize).unwrap_or_default()
    }

    pub(crate) fn span(&self, cut: Cut) -> Span {
        match &self.base {
            Base::Shifted(offset) => Span {
                start: cut.start.saturating_add(*offset),
                end: cut.end.saturating_add(*offset),
            },
            Base::Mapped(map) => {
                let at = |offset: u32| {
                    map.get(offset as usize).or(map.last()).copied().unwrap_or_default()
                };
                Span { start: at(cut.start), end: at(cut.end) }
            }
            Base::Within(span) => *span,
        }
    }
}
