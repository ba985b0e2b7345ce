//! Values as far as they are known: text with unknown stretches, and where it came from.

use crate::shell::Span;
use crate::shell::normalise::UNKNOWN;

/// Where text came from, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Taint(u16);

impl Taint {
    pub(crate) const NONE: Self = Self(0);
    /// From the network.
    pub(crate) const DOWNLOADED: Self = Self(1);
    /// Out of an encoding, a cipher or a compressor.
    pub(crate) const DECODED: Self = Self(2);
    /// From a key, token or password file.
    pub(crate) const SECRET: Self = Self(4);
    /// The whole environment.
    pub(crate) const ENVIRONMENT: Self = Self(8);
    /// Process numbers found by name or pattern.
    pub(crate) const PROCESSES: Self = Self(16);
    /// The output of a program, not to be known before it runs.
    pub(crate) const PROGRAM: Self = Self(32);
    /// Text from a file or from text tools, that may hold anything.
    pub(crate) const OPAQUE: Self = Self(64);
    /// Names of files found by a search or a listing.
    pub(crate) const LISTING: Self = Self(128);

    /// What a shell prints that takes its commands from a stream.
    pub(crate) const SHELL: Self = Self(256);
    /// What a tool that prints keys and tokens printed.
    pub(crate) const TOKEN: Self = Self(512);
    /// Put together by a text tool in a way that was not followed.
    pub(crate) const REWRITTEN: Self = Self(1024);
    /// The name of a program as `which` prints it.
    pub(crate) const LOCATED: Self = Self(2048);
    /// The numbers of all processes, not of some that were picked.
    pub(crate) const EVERY_PROCESS: Self = Self(4096);
    /// Begins with a tilde that was quoted: a name like any other.
    pub(crate) const TILDE: Self = Self(8192);
    /// The source that a program was built from.
    pub(crate) const SOURCE: Self = Self(16384);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// One argument after expansion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arg {
    pub(crate) text: String,
    pub(crate) span: Span,
    /// Has an unquoted pattern sign.
    pub(crate) glob: bool,
    pub(crate) taint: Taint,
}

impl Arg {
    pub(crate) fn new(text: impl Into<String>, span: Span) -> Self {
        Self { text: text.into(), span, glob: false, taint: Taint::NONE }
    }

    /// A text of that origin.
    pub(crate) fn of(text: impl Into<String>, span: Span, taint: Taint) -> Self {
        Self { text: text.into(), span, glob: false, taint }
    }

    /// Another text of the same origin.
    pub(crate) fn with_text(&self, text: impl Into<String>) -> Self {
        Self { text: text.into(), span: self.span, glob: self.glob, taint: self.taint }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.text.contains(UNKNOWN)
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.text == text
    }
}

/// What a command writes or reads, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    pub(crate) text: Option<String>,
    pub(crate) taint: Taint,
}

impl Stream {
    /// Nothing is written.
    pub(crate) fn empty() -> Self {
        Self { text: Some(String::new()), taint: Taint::NONE }
    }

    pub(crate) fn known(text: String) -> Self {
        Self { text: Some(text), taint: Taint::NONE }
    }

    pub(crate) fn unknown(taint: Taint) -> Self {
        Self { text: None, taint }
    }

    pub(crate) fn append(&mut self, other: Self) {
        match (&mut self.text, other.text) {
            (Some(text), Some(more)) => text.push_str(&more),
            (text, _) => *text = None,
        }
        self.taint = self.taint.with(other.taint);
    }

    /// As [`Stream::append`], but what is known stays known beside what is not.
    pub(crate) fn append_mixed(&mut self, other: Self) {
        self.taint = self.taint.with(other.taint);
        match (&mut self.text, other.text) {
            (Some(text), Some(more)) => text.push_str(&more),
            (Some(text), None) if text.is_empty() => self.text = None,
            (Some(text), None) => {
                if !text.ends_with("\u{10FFFE}\n") {
                    text.push(UNKNOWN);
                    text.push('\n');
                }
            }
            (None, Some(more)) if !more.is_empty() => {
                self.text = Some(format!("{UNKNOWN}\n{more}"));
            }
            (None, _) => {}
        }
    }
}

/// The value of a variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Value {
    pub(crate) text: String,
    pub(crate) taint: Taint,
    /// Other values it may have, after branches.
    pub(crate) others: Vec<String>,
    pub(crate) array: Option<Vec<String>>,
    /// The text is the name of the variable that is meant.
    pub(crate) reference: bool,
}

impl Value {
    pub(crate) fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(crate) fn unknown(taint: Taint) -> Self {
        Self { text: UNKNOWN.to_string(), taint, ..Self::default() }
    }
}
