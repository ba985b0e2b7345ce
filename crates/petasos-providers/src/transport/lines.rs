//! Bytes into lines, for dialects that say one JSON text a line.

use super::decode::DecodeError;

/// The longest line that is taken.
const LINE_BYTES_MAX: usize = 32 * 1024 * 1024;

/// A line that is not whole yet.
#[derive(Debug, Default)]
pub struct Lines(Vec<u8>);

impl Lines {
    /// Takes a piece and gives every line that it completes; blank ones are nobody's.
    pub fn push<E: From<DecodeError>>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(&str) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            self.0.extend_from_slice(line);
            let whole = std::mem::take(&mut self.0);
            let text = String::from_utf8_lossy(&whole);
            if !text.trim().is_empty() {
                take(text.trim())?;
            }
        }
        if self.0.len() + rest.len() > LINE_BYTES_MAX {
            return Err(
                DecodeError::TooLarge { what: "bytes in one line", most: LINE_BYTES_MAX }.into()
            );
        }
        self.0.extend_from_slice(rest);
        Ok(())
    }
}
