//! Amazon's binary event stream: length-prefixed frames with two checksums each.
//!
//! Gives the frame's event type and its JSON payload. A frame that lies about its length or
//! fails its checksum is an error: what follows it cannot be trusted.

use super::decode::DecodeError;

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The event or exception type.
    pub kind: &'a str,
    /// The JSON payload.
    pub payload: &'a str,
}

/// The protocol's own bound on a frame.
const FRAME_BYTES_MAX: usize = 24 * 1024 * 1024;
const PRELUDE: usize = 12;

/// Reads frames from pieces.
#[derive(Debug, Default)]
pub struct Frames {
    buffer: Vec<u8>,
}

impl Frames {
    /// Takes a piece and hands over every frame that it completes.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Frame<'_>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        self.buffer.extend_from_slice(bytes);
        let mut read = 0;
        let mut outcome = Ok(());
        while outcome.is_ok() {
            let rest = self.buffer.get(read..).unwrap_or_default();
            match frame(rest) {
                Ok(None) => break,
                Ok(Some((size, kind, payload))) => {
                    outcome = each(Frame { kind: &kind, payload: &payload });
                    read += size;
                }
                Err(error) => outcome = Err(error),
            }
        }
        self.buffer.drain(..read);
        outcome
    }

    /// Checks that no frame was cut off.
    pub fn finish(&self) -> Result<(), DecodeError> {
        if self.buffer.is_empty() { Ok(()) } else { Err(DecodeError::Truncated) }
    }
}

fn frame(bytes: &[u8]) -> Result<Option<(usize, String, String)>, DecodeError> {
    let (Some(total), Some(headers), Some(sum)) = (word(bytes, 0), word(bytes, 4), word(bytes, 8))
    else {
        return Ok(None);
    };
    let (total, headers) = (total as usize, headers as usize);
    let wrong = |what: &str| Err(DecodeError::Malformed { what: what.to_owned() });
    if crc32(bytes.get(..8).unwrap_or_default()) != sum {
        return wrong("a frame's head fails its checksum");
    }
    if !(PRELUDE + 4..=FRAME_BYTES_MAX).contains(&total) || headers > total - PRELUDE - 4 {
        return wrong("a frame lies about its length");
    }
    let Some(all) = bytes.get(..total) else { return Ok(None) };
    let (content, sum) = all.split_at(total - 4);
    if word(sum, 0) != Some(crc32(content)) {
        return wrong("a frame fails its checksum");
    }
    let content = content.get(PRELUDE..).unwrap_or_default();
    let (heads, payload) = content.split_at(headers);
    let kind = kind(heads);
    Ok(Some((total, kind, String::from_utf8_lossy(payload).into_owned())))
}

/// The `:event-type` header, or `:exception-type` for a fault.
fn kind(mut heads: &[u8]) -> String {
    let mut found = String::new();
    while let Some((&length, rest)) = heads.split_first() {
        let Some((name, rest)) = rest.split_at_checked(length as usize) else { break };
        // Only strings (type 7) are used by the service; any other type ends the reading.
        let Some((7, rest)) = rest.split_first().map(|(kind, rest)| (*kind, rest)) else { break };
        let Some((size, rest)) = rest.split_at_checked(2) else { break };
        let size = size.iter().fold(0, |size, byte| size << 8 | usize::from(*byte));
        let Some((value, rest)) = rest.split_at_checked(size) else { break };
        if matches!(name, b":event-type" | b":exception-type") {
            found = String::from_utf8_lossy(value).into_owned();
        }
        heads = rest;
    }
    found
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(four.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)))
}

/// The checksum of Ethernet and zip, as the frames want it.
pub fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = table();
    !bytes
        .iter()
        .fold(!0, |sum: u32, byte| TABLE[((sum ^ u32::from(*byte)) & 0xff) as usize] ^ (sum >> 8))
}

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    let mut first: u32 = 0;
    while index < 256 {
        let mut value = first;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { 0xEDB8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
        first += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_standard_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }
}
