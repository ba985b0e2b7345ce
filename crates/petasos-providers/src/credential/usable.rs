//! Whether a text can be a secret at all, applied to every source alike.

use std::fmt::Write;

use petasos_contract::Secret;
use sha2::{Digest, Sha256};

/// Words that people leave where a key should be, alone or after a vendor's prefix.
const PLACEHOLDERS: [&str; 11] = [
    "changeme",
    "change-me",
    "replaceme",
    "replace-me",
    "placeholder",
    "example",
    "dummy",
    "null",
    "none",
    "undefined",
    "todo",
];
/// What a vendor's keys begin with, before the part that tells them apart.
const PREFIXES: [&str; 9] =
    ["sk-ant-api03-", "sk-ant-", "sk-or-v1-", "sk-or-", "sk-proj-", "sk-", "gsk-", "xai-", "hf-"];

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
    if is_placeholder(text) {
        return Err(Unusable::Placeholder);
    }
    let ascii: String = text.chars().filter(char::is_ascii_graphic).collect();
    if ascii.len() < CHARS_MIN {
        return Err(Unusable::Short);
    }
    let cleaned = ascii.len() != text.len();
    Ok(Usable { secret: Secret::new(ascii), cleaned })
}

/// Whether a text stands where a key belongs: `your-api-key-here`, `sk-xxx`, `<key>`, `***`.
fn is_placeholder(text: &str) -> bool {
    let plain = text.to_ascii_lowercase().replace(['_', ' '], "-");
    if plain.starts_with('<') && plain.ends_with('>') {
        return true;
    }
    let rest = PREFIXES.iter().find_map(|prefix| plain.strip_prefix(prefix)).unwrap_or(&plain);
    let named = ["key", "token", "secret"].iter().any(|word| plain.contains(word));
    let addressed = rest.starts_with("your-") || rest.ends_with("-here");
    let filler = |c: char| matches!(c, 'x' | '*' | '.' | '-' | '…');
    PLACEHOLDERS.contains(&rest) || (named && addressed) || rest.chars().all(filler)
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
        let left = [
            "ChangeMe",
            "your-api-key-here",
            "YOUR_OPENAI_API_KEY",
            "sk-your-key-here",
            "sk-xxx",
            "sk-ant-XXXXXXXXXXXXXXXX",
            "sk-...",
            "<your key>",
            "***",
            "sk-placeholder",
            "api_key_here",
        ];
        for text in left {
            assert_eq!(verdict(text), Err(Unusable::Placeholder), "{text}");
        }
        for text in ["lm-studio", "test-0001", "sk-xa0123", "my-box", "yourself", "hf_0123456789"] {
            assert_eq!(verdict(text), Ok(text.to_owned()), "{text}");
        }
        assert_eq!(verdict("abc"), Err(Unusable::Short));
        assert_eq!(verdict("sk-01\nsk-02"), Err(Unusable::Broken));
        assert_eq!(verdict("  "), Err(Unusable::Empty));
        assert!(usable("sk-0123\u{200b}").unwrap().cleaned);
    }
}
