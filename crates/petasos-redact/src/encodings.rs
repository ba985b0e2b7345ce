//! How a secret looks when a program printed it in another form.
//!
//! Only forms that a person or a model reverses without thinking: base64 in both alphabets and at
//! every alignment, hexadecimal, percent encoding, and backwards.

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// A shorter form would hide ordinary text.
const FORM_BYTES_MIN: usize = 8;

/// The value itself and every form of it that must not be shown.
pub(crate) fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![
        value.to_owned(),
        value.chars().rev().collect(),
        hex(value.as_bytes(), 'a'),
        hex(value.as_bytes(), 'A'),
    ];
    for ten in ['a', 'A'] {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        forms.push(percent(value, ten, is_plain));
        forms.push(percent(value, ten, |_| false));
    }
    for alignment in 0..3 {
        forms.push(aligned(&STANDARD_NO_PAD, value.as_bytes(), alignment));
        forms.push(aligned(&URL_SAFE_NO_PAD, value.as_bytes(), alignment));
    }
    forms.retain(|form| form.len() >= FORM_BYTES_MIN);
    forms.sort();
    forms.dedup();
    forms
}

/// The base64 letters that depend on the value alone when so many other bytes come before it.
fn aligned(engine: &impl base64::Engine, value: &[u8], before: usize) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let encoded = engine.encode(&bytes);
    // A letter holds six bits: those that share a byte with a neighbour are not the value's own.
    let first = (before * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    encoded.get(first..last).unwrap_or_default().to_owned()
}

fn hex(bytes: &[u8], ten: char) -> String {
    let digit = |half: u8| {
        let digit = char::from_digit(half.into(), 16).unwrap_or('0');
        if ten == 'A' { digit.to_ascii_uppercase() } else { digit }
    };
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn percent(value: &str, ten: char, plain: impl Fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(value.len() * 3);
    for byte in value.bytes() {
        if plain(byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push_str(&hex(&[byte], ten));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn base64_of_anything_around_the_value_holds_one_of_its_forms(
            before in proptest::collection::vec(any::<u8>(), 0..7),
            value in "[!-~]{12,40}",
            after in proptest::collection::vec(any::<u8>(), 0..7),
        ) {
            let bytes = [before, value.clone().into_bytes(), after].concat();
            for encoded in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
                prop_assert!(forms(&value).iter().any(|form| encoded.contains(form.as_str())));
            }
        }
    }
}
