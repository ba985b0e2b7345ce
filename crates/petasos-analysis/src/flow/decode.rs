//! Decoders for text that is there in plain sight, only spelt otherwise.

/// Base64, standard or URL alphabet, blanks ignored.
pub(crate) fn base64(text: &str) -> Option<String> {
    gathered(text, 6, |byte| {
        Some(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        })
    })
}

/// Base32, blanks ignored.
pub(crate) fn base32(text: &str) -> Option<String> {
    gathered(text, 5, |byte| {
        Some(match byte.to_ascii_uppercase() {
            upper @ b'A'..=b'Z' => upper - b'A',
            b'2'..=b'7' => byte - b'2' + 26,
            _ => return None,
        })
    })
}

/// The bytes whose bits the letters of a text hold, so many each.
fn gathered(text: &str, width: u32, value: fn(u8) -> Option<u8>) -> Option<String> {
    let (mut bits, mut held) = (0u32, 0);
    let mut bytes = Vec::with_capacity(text.len());
    let letters = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    for byte in letters.take_while(|byte| *byte != b'=') {
        bits = (bits << width | u32::from(value(byte)?)) & 0xff_ffff;
        held += width;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from(bits >> held & 0xff).unwrap_or_default());
        }
    }
    readable(bytes)
}

/// Pairs of hexadecimal digits, blanks ignored.
pub(crate) fn hex(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut high = None;
    for letter in text.chars().filter(|letter| !letter.is_whitespace()) {
        let digit = letter.to_digit(16)?;
        match high.take() {
            Some(first) => bytes.push(u8::try_from(first << 4 | digit).unwrap_or_default()),
            None => high = Some(digit),
        }
    }
    readable(bytes)
}

/// Letters turned by thirteen places.
pub(crate) fn rot13(text: &str) -> String {
    let turn = |letter: char, first: u8| {
        let offset = u8::try_from(letter).map_or(0, |byte| (byte - first + 13) % 26);
        char::from(first + offset)
    };
    text.chars()
        .map(|letter| match letter {
            'a'..='z' => turn(letter, b'a'),
            'A'..='Z' => turn(letter, b'A'),
            other => other,
        })
        .collect()
}

/// Decoded bytes are worth reading when they are text, also with two bytes a letter.
fn readable(mut bytes: Vec<u8>) -> Option<String> {
    if bytes.len() > 1 && bytes.iter().skip(1).step_by(2).all(|byte| *byte == 0) {
        bytes = bytes.into_iter().step_by(2).collect();
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
