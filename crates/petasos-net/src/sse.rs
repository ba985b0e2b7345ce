//! Server-sent events out of bytes that arrive in any cut.
//!
//! Knows lines, fields and events as the HTML standard describes them and nothing of what the
//! events mean. It copies a line only when a cut falls inside it, and refuses an event that
//! outgrows its bound, so that a server cannot fill the memory.

use std::borrow::Cow;

use memchr::memchr2;

/// The largest single event that is taken.
pub const EVENT_BYTES_MAX: usize = 32 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event` field; empty when there was none.
    pub name: &'a str,
    /// The `data` lines, joined by line feeds.
    pub data: &'a str,
}

/// Why a stream of events cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event or a line does not end.
    #[error("one server-sent event is larger than {EVENT_BYTES_MAX} bytes")]
    TooLarge,
}

/// Reads events from pieces.
#[derive(Debug, Default)]
pub struct Parser {
    /// A line whose end has not arrived.
    partial: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    lines: u64,
    comments: u64,
}

impl Parser {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Comments seen so far; servers send them to keep a connection alive.
    pub fn comments(&self) -> u64 {
        self.comments
    }

    /// Takes a piece and hands over every event that it completes.
    pub fn push<E: From<SseError>>(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut bytes = bytes;
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(at) = memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = bytes.split_at(at);
            let (end, mut rest) = rest.split_at(1);
            if end == b"\r" {
                self.after_return = rest.is_empty();
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            }
            if self.partial.is_empty() {
                self.line(line, &mut each)?;
            } else {
                self.partial.extend_from_slice(line);
                let mut whole = std::mem::take(&mut self.partial);
                self.line(&whole, &mut each)?;
                whole.clear();
                self.partial = whole;
            }
            bytes = rest;
        }
        if self.partial.len() + bytes.len() > EVENT_BYTES_MAX {
            return Err(SseError::TooLarge.into());
        }
        self.partial.extend_from_slice(bytes);
        Ok(())
    }

    /// Hands over what is left when the stream ends without an empty line. The standard drops
    /// it; servers that forget the last line feed are common enough to keep it.
    pub fn finish<E: From<SseError>>(
        mut self,
        mut each: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let rest = std::mem::take(&mut self.partial);
        if !rest.is_empty() {
            self.line(&rest, &mut each)?;
        }
        self.line(b"", &mut each)
    }

    fn line<E: From<SseError>>(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut line = line;
        self.lines += 1;
        if self.lines == 1 {
            line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            return self.data_line(value).map_err(E::from);
        }
        if line.is_empty() {
            return self.dispatch(each);
        }
        if line.first() == Some(&b':') {
            self.comments += 1;
            return Ok(());
        }
        if let Some(value) = line.strip_prefix(b"event:") {
            self.name.clear();
            self.name.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
        } else if line == b"data" {
            return self.data_line(b"").map_err(E::from);
        } else if line == b"event" {
            self.name.clear();
        }
        // `id` and `retry` are for clients that reconnect; asking again would be paid twice.
        Ok(())
    }

    fn data_line(&mut self, value: &[u8]) -> Result<(), SseError> {
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if self.data.len() + value.len() > EVENT_BYTES_MAX {
            return Err(SseError::TooLarge);
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
        Ok(())
    }

    fn dispatch<E>(&mut self, each: &mut impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        let given = if self.has_data {
            let (name, data) = (text(&self.name), text(&self.data));
            each(Event { name: &name, data: &data })
        } else {
            Ok(())
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        given
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
        let mut seen = Vec::new();
        let mut parser = Parser::new();
        let mut each = |event: Event<'_>| -> Result<(), SseError> {
            seen.push((event.name.to_owned(), event.data.to_owned()));
            Ok(())
        };
        for piece in pieces {
            parser.push(piece, &mut each).unwrap();
        }
        parser.finish(&mut each).unwrap();
        seen
    }

    #[test]
    fn every_cut_of_a_stream_gives_the_same_events() {
        let stream = "\u{feff}event: a\r\ndata: {\"x\": \"\u{e9}\u{1f600}\"}\r\n\r\n: ping\n\ndata:one\rdata: two\r\rid: 7\nretry: 5\ndata\n\ndata: end".as_bytes();
        let whole = events(&[stream]);
        let expected =
            [("a", "{\"x\": \"\u{e9}\u{1f600}\"}"), ("", "one\ntwo"), ("", ""), ("", "end")];
        let expected: Vec<_> =
            expected.iter().map(|(name, data)| ((*name).to_owned(), (*data).to_owned())).collect();
        assert_eq!(whole, expected);
        for first in 0..=stream.len() {
            let (left, right) = stream.split_at(first);
            assert_eq!(events(&[left, right]), whole, "cut at {first}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(events(&bytes), whole);
    }

    #[test]
    fn an_event_without_end_is_refused_before_it_fills_the_memory() {
        let piece = vec![b'x'; 1024 * 1024];
        let mut parser = Parser::new();
        let mut none = |_: Event<'_>| -> Result<(), SseError> { Ok(()) };
        parser.push(b"data: ", &mut none).unwrap();
        let refused = (0..64).find_map(|_| parser.push(&piece, &mut none).err());
        assert_eq!(refused, Some(SseError::TooLarge));
    }
}
