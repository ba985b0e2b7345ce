//! Private text by its windows: a stretch of it is recognised wherever it stands, also when it was
//! encoded once or written backwards.

use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// So long is a window.
const WINDOW: usize = 32;
/// Lines, rulers and blanks say nothing about whose text it is.
const DISTINCT_MIN: usize = 8;
const BASE: u64 = 1_000_003;

/// The hashes of every telling window.
pub(crate) fn windows(text: &str) -> Vec<u64> {
    let letters: Vec<u64> = text.chars().map(|letter| u64::from(u32::from(letter)) + 1).collect();
    let drop = (1..WINDOW).fold(1u64, |power, _| power.wrapping_mul(BASE));
    let mut found = Vec::new();
    let mut hash = 0u64;
    for (at, letter) in letters.iter().enumerate() {
        if let Some(gone) = at.checked_sub(WINDOW).and_then(|gone| letters.get(gone)) {
            hash = hash.wrapping_sub(gone.wrapping_mul(drop));
        }
        hash = hash.wrapping_mul(BASE).wrapping_add(*letter);
        let Some(start) = (at + 1).checked_sub(WINDOW) else { continue };
        if letters.get(start..=at).is_some_and(is_telling) {
            found.push(hash);
        }
    }
    found
}

fn is_telling(window: &[u64]) -> bool {
    let mut seen = Vec::with_capacity(DISTINCT_MIN);
    for letter in window {
        if !seen.contains(letter) {
            seen.push(*letter);
            if seen.len() >= DISTINCT_MIN {
                return true;
            }
        }
    }
    false
}

/// The text as it is, and as it was before one encoding.
pub(crate) fn readings(text: &str) -> Vec<String> {
    let mut found = vec![text.to_owned(), text.chars().rev().collect()];
    if text.contains(['%', '+']) {
        found.push(percent(text));
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric();
    let long = |token: &&str| token.len() >= WINDOW;
    for token in text.split(|it| !plain(it) && it != '+' && it != '/').filter(long) {
        found.extend(decoded(token, &STANDARD));
    }
    // In an address a slash separates.
    for token in text.split(|it| !plain(it) && it != '-' && it != '_').filter(long) {
        found.extend(decoded(token, &URL_SAFE));
        found.extend(hexadecimal(token));
    }
    found
}

fn decoded(token: &str, alphabet: &Alphabet) -> Option<String> {
    let padding = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let bytes = GeneralPurpose::new(alphabet, padding).decode(token).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn hexadecimal(token: &str) -> Option<String> {
    let digits: Vec<u32> =
        token.chars().map(|letter| letter.to_digit(16)).collect::<Option<Vec<u32>>>()?;
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .filter_map(|pair| u8::try_from(pair.iter().fold(0, |byte, digit| byte * 16 + digit)).ok())
        .collect();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let pair = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = pair.filter(|_| *first == b'%').and_then(|it| u8::from_str_radix(it, 16).ok());
        let plain = if *first == b'+' { b' ' } else { *first };
        bytes.push(byte.unwrap_or(plain));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
