//! The few shapes of D-Bus messages that a secret service is asked with: written, and read back.
//!
//! Not a bus library: no signals, no introspection, one byte order. Whatever a message claims about
//! its lengths is checked against what is there.

use super::Absent;

/// The largest message that is taken; secrets are small.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// The fixed part of a message, before its fields.
const HEAD: usize = 16;
const CALL: u8 = 1;
const ANSWER: u8 = 2;
const ERROR: u8 = 3;

/// Values in the order of a signature.
#[derive(Debug, Default)]
pub(super) struct Writer(Vec<u8>);

impl Writer {
    fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    pub(super) fn byte(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn number(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    /// A text or the path of an object.
    pub(super) fn text(&mut self, text: &str) {
        self.number(length(text.len()));
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    pub(super) fn signature(&mut self, text: &str) {
        self.0.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.number(length(bytes.len()));
        self.0.extend(bytes);
    }

    /// Begins a structure or an entry of a map.
    pub(super) fn open(&mut self) {
        self.align(8);
    }

    /// An array whose items begin at a multiple of `step`.
    pub(super) fn array(&mut self, step: usize, items: impl FnOnce(&mut Self)) {
        self.number(0);
        let at = self.0.len();
        self.align(step);
        let start = self.0.len();
        items(self);
        let size = length(self.0.len() - start).to_le_bytes();
        if let Some(place) = self.0.get_mut(at - 4..at) {
            place.copy_from_slice(&size);
        }
    }

    fn field(&mut self, code: u8, kind: &str, text: &str) {
        self.open();
        self.byte(code);
        self.signature(kind);
        match kind {
            "g" => self.signature(text),
            _ => self.text(text),
        }
    }
}

/// A length as messages spell it; what is too large is refused by the other side.
fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// What is called, and on what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) to: &'a str,
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) member: &'a str,
    pub(super) signature: &'a str,
}

impl Call<'_> {
    /// The whole message.
    pub(super) fn message(&self, serial: u32, body: Writer) -> Vec<u8> {
        let mut out = Writer(vec![b'l', CALL, 0, 1]);
        out.number(length(body.0.len()));
        out.number(serial);
        out.array(8, |fields| {
            fields.field(1, "o", self.path);
            fields.field(2, "s", self.interface);
            fields.field(3, "s", self.member);
            fields.field(6, "s", self.to);
            if !self.signature.is_empty() {
                fields.field(8, "g", self.signature);
            }
        });
        out.align(8);
        out.0.extend(body.0);
        out.0
    }
}

/// A message that came.
#[derive(Debug)]
pub(super) struct Answer {
    /// Which call it answers.
    pub(super) serial: Option<u32>,
    /// The name of an error, when it is one.
    pub(super) error: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    /// How long the fields and the body of a message with this head are.
    pub(super) fn rest(head: &[u8; HEAD]) -> Result<(usize, usize), Absent> {
        let [order, .., a, b, c, d] = head;
        if *order != b'l' {
            return Err(Absent::because("the bus speaks the other byte order"));
        }
        let fields = u32::from_le_bytes([*a, *b, *c, *d]);
        let body =
            head.get(4..8).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes);
        let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let fields = size(fields).saturating_add(HEAD).next_multiple_of(8) - HEAD;
        if fields.saturating_add(size(body)) > MESSAGE_BYTES_MAX {
            return Err(Absent::because("the bus sent a message that is too large"));
        }
        Ok((fields, size(body)))
    }

    /// Reads the fields; `None` for messages that answer nothing.
    pub(super) fn read(
        head: &[u8; HEAD],
        fields: &[u8],
        body: Vec<u8>,
    ) -> Result<Option<Self>, Absent> {
        let kind = head.get(1).copied().unwrap_or_default();
        if kind != ANSWER && kind != ERROR {
            return Ok(None);
        }
        let mut answer = Self { serial: None, error: None, body };
        let mut fields = Reader { bytes: fields, at: 0 };
        while fields.align(8) && fields.at < fields.bytes.len() {
            let code = fields.byte()?;
            match fields.signature()?.as_str() {
                "u" => {
                    let number = fields.number()?;
                    answer.serial = if code == 5 { Some(number) } else { answer.serial };
                }
                "g" => drop(fields.signature()?),
                _ => {
                    let text = fields.text()?;
                    answer.error = if code == 4 { Some(text) } else { answer.error };
                }
            }
        }
        if kind == ERROR {
            answer.error.get_or_insert_with(|| "an error without a name".to_owned());
        }
        Ok(Some(answer))
    }

    /// Its values.
    pub(super) fn values(&self) -> Reader<'_> {
        Reader { bytes: &self.body, at: 0 }
    }
}

/// Values in the order of a signature.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    /// Moves to a multiple; whether that is still inside or at the end.
    pub(super) fn align(&mut self, to: usize) -> bool {
        self.at = self.at.next_multiple_of(to);
        self.at <= self.bytes.len()
    }

    fn take(&mut self, count: usize) -> Result<&[u8], Absent> {
        let end = self.at.checked_add(count);
        let found = end.and_then(|end| self.bytes.get(self.at..end));
        self.at = end.unwrap_or(usize::MAX);
        found.ok_or_else(|| Absent::because("the bus sent a message that breaks off"))
    }

    pub(super) fn byte(&mut self) -> Result<u8, Absent> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    pub(super) fn number(&mut self) -> Result<u32, Absent> {
        self.align(4);
        let four = self.take(4)?;
        Ok(four.try_into().map_or(0, u32::from_le_bytes))
    }

    fn size(&mut self) -> Result<usize, Absent> {
        Ok(usize::try_from(self.number()?).unwrap_or(usize::MAX))
    }

    /// A text or the path of an object.
    pub(super) fn text(&mut self) -> Result<String, Absent> {
        let size = self.size()?;
        let text = String::from_utf8_lossy(self.take(size)?).into_owned();
        self.take(1)?;
        Ok(text)
    }

    pub(super) fn signature(&mut self) -> Result<String, Absent> {
        let size = usize::from(self.byte()?);
        let text = String::from_utf8_lossy(self.take(size)?).into_owned();
        self.take(1)?;
        Ok(text)
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, Absent> {
        let size = self.size()?;
        Ok(self.take(size)?.to_vec())
    }

    /// A list of paths.
    pub(super) fn paths(&mut self) -> Result<Vec<String>, Absent> {
        let size = self.size()?;
        let end = self.at.saturating_add(size);
        let mut paths = Vec::new();
        while self.at < end {
            paths.push(self.text()?);
        }
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call as the published format spells it, byte by byte.
    #[test]
    fn a_call_has_the_published_layout() {
        let call = Call { to: "a.b", path: "/", interface: "c.d", member: "E", signature: "s" };
        let mut body = Writer::default();
        body.text("hi");
        let expected: &[u8] = b"l\x01\x00\x01\x07\x00\x00\x00\x05\x00\x00\x00\x47\x00\x00\x00\
            \x01\x01o\x00\x01\x00\x00\x00/\x00\x00\x00\x00\x00\x00\x00\
            \x02\x01s\x00\x03\x00\x00\x00c.d\x00\x00\x00\x00\x00\
            \x03\x01s\x00\x01\x00\x00\x00E\x00\x00\x00\x00\x00\x00\x00\
            \x06\x01s\x00\x03\x00\x00\x00a.b\x00\x00\x00\x00\x00\
            \x08\x01g\x00\x01s\x00\x00\
            \x02\x00\x00\x00hi\x00";
        assert_eq!(call.message(5, body), expected);
    }

    #[test]
    fn an_answer_that_lies_about_its_lengths_is_refused() {
        let mut head = *b"l\x02\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff";
        assert!(Answer::rest(&head).is_err());
        head[12..].copy_from_slice(&8_u32.to_le_bytes());
        assert_eq!(Answer::rest(&head), Ok((8, 0)));
        let whole = b"\x05\x01u\x00\x07\x00\x00\x00".as_slice();
        let answer = Answer::read(&head, whole, vec![200, 0, 0, 0, b'x']).unwrap().unwrap();
        assert_eq!(answer.serial, Some(7));
        assert!(answer.values().text().is_err());
        for cut in 1..whole.len() {
            assert!(Answer::read(&head, &whole[..cut], Vec::new()).is_err(), "{cut}");
        }
    }
}
