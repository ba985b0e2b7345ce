//! From Markdown to what a platform shows: one tree, one writer for each dialect, parts that fit.
//!
//! Nothing is matched over finished text: a writer emits only what it has escaped itself, and a
//! long text is divided as a tree, so that every part stands on its own.

mod dialect;
mod divide;
mod media;
mod tree;

pub use dialect::{Dialect, plain};
pub use media::{Directive, directives};
pub(crate) use media::{is_silence, may_be_silence};
use tree::Block;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Code units of UTF-16.
    Utf16,
    /// Unicode scalar values.
    Chars,
    /// Bytes of UTF-8.
    Bytes,
}

impl Unit {
    /// How much a text counts.
    pub fn measure(self, text: &str) -> usize {
        match self {
            Self::Utf16 => text.encode_utf16().count(),
            Self::Chars => text.chars().count(),
            Self::Bytes => text.len(),
        }
    }
}

/// How a text must look to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// The markup.
    pub dialect: Dialect,
    /// The longest part.
    pub limit: usize,
    /// What the limit counts.
    pub unit: Unit,
}

impl Form {
    /// A text as parts, none longer than the limit and none empty.
    pub fn parts(self, markdown: &str) -> Vec<String> {
        let blocks = tree::parse(markdown);
        let whole = self.write(&blocks);
        if self.unit.measure(&whole) <= self.limit {
            return if whole.trim().is_empty() { Vec::new() } else { vec![whole] };
        }
        let room = self.limit.saturating_sub(self.dialect.counter(999, 999).len()).max(1);
        let parts = divide::divide(blocks, Self { limit: room, ..self });
        let mut parts: Vec<String> = parts
            .iter()
            .map(|part| self.write(part))
            .filter(|part| !part.trim().is_empty())
            .collect();
        if parts.len() >= 3 {
            let count = parts.len();
            for (at, part) in parts.iter_mut().enumerate() {
                part.push_str(&self.dialect.counter(at + 1, count));
            }
        }
        parts
    }

    fn write(self, blocks: &[Block]) -> String {
        dialect::write(blocks, self.dialect)
    }

    fn fits(self, blocks: &[Block]) -> bool {
        self.unit.measure(&self.write(blocks)) <= self.limit
    }
}

/// Adds to a text.
pub(crate) fn add(text: &mut String, more: std::fmt::Arguments<'_>) {
    text.push_str(&more.to_string());
}

/// Text of a model or a stranger without what a terminal or a chat would act on: control
/// characters, and marks that turn the direction of writing.
pub fn harmless(text: &str) -> String {
    text.chars().filter(|c| !is_active(*c)).collect()
}

/// The same with invisible characters made visible, for what a person agrees to.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_active(c) || is_invisible(c) {
            add(&mut shown, format_args!("⟨U+{:04X}⟩", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    shown
}

fn is_active(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{ad}' | '\u{e0000}'..='\u{e007f}')
}
