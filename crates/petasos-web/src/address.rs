//! Secrets in addresses: whatever is fetched is told to its server, and often to its log.

use petasos_contract::CallContext;
use petasos_redact::Redactor;

/// Refuses an address that holds a key, as it is written or percent-encoded once or twice.
pub fn secret_free(address: &str, cx: &CallContext) -> Result<(), String> {
    let redactor = Redactor::of(&cx.settings);
    let once = decoded(address);
    let twice = decoded(&once);
    let is_held = |text: &str| redactor.text(text) != text;
    if is_held(address) || is_held(&once) || is_held(&twice) {
        return Err(
            "the address holds what looks like a key; leave it out, because whoever serves \
                    the page would read it"
                .to_owned(),
        );
    }
    Ok(())
}

/// Percent escapes become their characters; what is no escape stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit =
            |byte: Option<u8>| char::from(byte?).to_digit(16).and_then(|d| u8::try_from(d).ok());
        let mut ahead = rest.clone();
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(high << 4 | low);
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_their_characters() {
        assert_eq!(decoded("a%2Fb%zz%"), "a/b%zz%");
        assert_eq!(decoded(&decoded("%2541")), "A");
    }
}
