//! Whether a text can be a secret at all, applied to every source alike.

use std::fmt::Write;

use petasos_contract::Secret;
use sha2::{Digest, Sha256};

/// Values that people leave where a key should be.
const PLACEHOLDERS: [&str; 12] = [
    "*",
    "**",
    "***",
    "changeme",
    "your_api_key",
    "your_api_key_here",
    "your-api-key",
    "placeholder",
    "example",
    "dummy",
    "null",
    "none",
];

const CHARS_MIN: usize = 4;

/// Why a text is no secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// Nothing there.
    #[error("it is empty")]
    Empty,
    /// Too short to be one.
    #[error("it is shorter than {CHARS_MIN} characters")]
    Short,
    /// A placeholder.
    #[error("it is a placeholder")]
    Placeholder,
    /// Several lines.
    #[error("it holds a line break or a NUL")]
    Broken,
}

/// A text that can be a secret, and whether characters had to be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usable {
    /// The secret.
    pub secret: Secret,
    /// Whether non-ASCII characters were dropped: they come from copying a web page.
    pub cleaned: bool,
}

/// Takes a text as a secret.
pub fn usable(text: &str) -> Result<Usable, Unusable> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Unusable::Empty);
    }
    if text.contains(['\n', '\r', '\0']) {
        return Err(Unusable::Broken);
    }
    if PLACEHOLDERS.iter().any(|known| known.eq_ignore_ascii_case(text)) {
        return Err(Unusable::Placeholder);
    }
    let ascii: String = text.chars().filter(char::is_ascii_graphic).collect();
    if ascii.len() < CHARS_MIN {
        return Err(Unusable::Short);
    }
    let cleaned = ascii.len() != text.len();
    Ok(Usable { secret: Secret::new(ascii), cleaned })
}

/// A short name for a secret that gives nothing away.
pub fn fingerprint(secret: &Secret) -> String {
    let digest = Sha256::digest(secret.expose().as_bytes());
    digest.iter().take(8).fold("sha256:".to_owned(), |mut text, byte| {
        // Writing into a String cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_fragments_and_several_lines_are_no_secrets() {
        let verdict = |text| usable(text).map(|good| good.secret.expose().to_owned());
        assert_eq!(verdict(" sk-0123 "), Ok("sk-0123".to_owned()));
        assert_eq!(verdict("ChangeMe"), Err(Unusable::Placeholder));
        assert_eq!(verdict("abc"), Err(Unusable::Short));
        assert_eq!(verdict("sk-01\nsk-02"), Err(Unusable::Broken));
        assert_eq!(verdict("  "), Err(Unusable::Empty));
        assert!(usable("sk-0123\u{200b}").unwrap().cleaned);
    }
}
