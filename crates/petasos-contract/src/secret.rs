//! Secrets that cannot be printed by accident.
//!
//! A [`Secret`] has no `Display`, no `Serialize` and a `Debug` that says nothing. Opening one is
//! an explicit [`Secret::expose`], so that every place that does can be found by its name.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

/// A value that must not reach a log, a transcript or a child process unless granted.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Takes ownership of the text; the memory is wiped when the last copy goes.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(Zeroizing::new(text.into())))
    }

    /// The secret text. Call it only where the secret is used.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A form for people: dots and the last four characters, or only dots when it is short.
    pub fn masked(&self) -> String {
        let count = self.0.chars().count();
        if count < 12 {
            return "••••".to_owned();
        }
        let tail: String = self.0.chars().skip(count - 4).collect();
        format!("••••{tail}")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(••••)")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_at_most_its_last_four_characters() {
        let long = Secret::new("sk-or-0123456789abcdef");
        assert_eq!(long.masked(), "••••cdef");
        assert_eq!(Secret::new("short").masked(), "••••");
        assert_eq!(format!("{long:?}"), "Secret(••••)");
    }
}
