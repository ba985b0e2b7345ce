//! UTF-8 that arrives in pieces; what is not UTF-8 becomes the replacement character.

/// A decoder that remembers the start of a character.
#[derive(Debug, Default)]
pub(super) struct Utf8 {
    tail: Vec<u8>,
}

impl Utf8 {
    /// Gives the text of what is complete.
    pub(super) fn decode(&mut self, bytes: &[u8], give: &mut dyn FnMut(&str)) {
        if self.tail.is_empty() {
            let rest = decode_whole(bytes, give);
            self.tail.extend_from_slice(rest);
            return;
        }
        self.tail.extend_from_slice(bytes);
        let joined = std::mem::take(&mut self.tail);
        let rest = decode_whole(&joined, give);
        self.tail.extend_from_slice(rest);
    }

    /// Gives what can no longer become complete.
    pub(super) fn finish(&mut self, give: &mut dyn FnMut(&str)) {
        if !self.tail.is_empty() {
            self.tail.clear();
            give("\u{fffd}");
        }
    }
}

/// The bytes of an unfinished character at the end are given back.
fn decode_whole<'a>(mut bytes: &'a [u8], give: &mut dyn FnMut(&str)) -> &'a [u8] {
    loop {
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => {
                give(text);
                return &[];
            }
            Err(error) => error,
        };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        give(std::str::from_utf8(valid).unwrap_or_default());
        let Some(bad) = error.error_len() else { return rest };
        give("\u{fffd}");
        bytes = rest.get(bad..).unwrap_or_default();
    }
}
