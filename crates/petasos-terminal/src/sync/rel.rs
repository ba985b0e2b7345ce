//! A path below the synchronised root that cannot leave it, on either side.

use std::fmt;

/// Plain names joined by `/`: no empty part, no `.`, no `..`, nothing that a line or a shell could
/// read in two ways.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Rel(String);

/// The longest path that is taken; longer ones fit no archive everywhere.
const LENGTH_MAX: usize = 1024;

impl Rel {
    /// Reads a path; `None` when it could mean a place outside.
    pub(super) fn new(text: &str) -> Option<Self> {
        let plain = |part: &str| {
            !part.is_empty() && part != "." && part != ".." && !part.chars().any(char::is_control)
        };
        let fits = text.len() <= LENGTH_MAX && !text.contains('\\') && text.split('/').all(plain);
        fits.then(|| Self(text.to_owned()))
    }

    /// As text.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The first name.
    pub(super) fn is_below(&self, folder: &str) -> bool {
        self.0.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for Rel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
