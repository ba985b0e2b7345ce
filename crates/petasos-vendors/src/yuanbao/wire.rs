//! The frames: protobuf without a schema. Fields that are not known are kept out of the way, never
//! refused.

/// What a message of the wire may hold in a field.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

/// A message by its numbered fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message(Vec<(u64, Field)>);

const VARINT: u64 = 0;
const WIDE: u64 = 1;
const LENGTH: u64 = 2;
const NARROW: u64 = 5;

impl Message {
    /// With a text.
    pub(super) fn text(mut self, field: u64, text: &str) -> Self {
        self.0.push((field, Field::Bytes(text.as_bytes().to_vec())));
        self
    }

    /// With a number; nothing is nothing on this wire.
    pub(super) fn count(mut self, field: u64, number: u64) -> Self {
        if number != 0 {
            self.0.push((field, Field::Number(number)));
        }
        self
    }

    /// With a message inside.
    pub(super) fn message(mut self, field: u64, inner: &Self) -> Self {
        self.0.push((field, Field::Bytes(inner.encode())));
        self
    }

    /// A number of it.
    pub(super) fn number(&self, field: u64) -> u64 {
        self.0
            .iter()
            .find_map(|(at, value)| match value {
                Field::Number(number) if *at == field => Some(*number),
                _ => None,
            })
            .unwrap_or_default()
    }

    fn bytes(&self, field: u64) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter_map(move |(at, value)| match value {
            Field::Bytes(bytes) if *at == field => Some(bytes.as_slice()),
            _ => None,
        })
    }

    /// A text of it.
    pub(super) fn said(&self, field: u64) -> String {
        let bytes = self.bytes(field).next().unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// A message inside.
    pub(super) fn inner(&self, field: u64) -> Option<Self> {
        self.bytes(field).next().and_then(Self::decode)
    }

    /// All messages inside with this number.
    pub(super) fn all(&self, field: u64) -> Vec<Self> {
        self.bytes(field).filter_map(Self::decode).collect()
    }

    /// As it goes over the wire.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (field, value) in &self.0 {
            match value {
                Field::Number(number) => {
                    varint(&mut out, field << 3 | VARINT);
                    varint(&mut out, *number);
                }
                Field::Bytes(bytes) => {
                    varint(&mut out, field << 3 | LENGTH);
                    varint(&mut out, u64::try_from(bytes.len()).unwrap_or(u64::MAX));
                    out.extend_from_slice(bytes);
                }
            }
        }
        out
    }

    /// From the wire; nothing when it is none.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = read_varint(&mut bytes)?;
            match tag & 7 {
                VARINT => fields.push((tag >> 3, Field::Number(read_varint(&mut bytes)?))),
                LENGTH => {
                    let length = usize::try_from(read_varint(&mut bytes)?).ok()?;
                    let (value, rest) = bytes.split_at_checked(length)?;
                    fields.push((tag >> 3, Field::Bytes(value.to_vec())));
                    bytes = rest;
                }
                WIDE => bytes = bytes.get(8..)?,
                NARROW => bytes = bytes.get(4..)?,
                _ => return None,
            }
        }
        Some(Self(fields))
    }
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let low = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f).checked_shl(shift)?;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// The head of a frame that goes out.
#[derive(Debug)]
pub(super) struct Frame(Message);

/// The head of a frame that came.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the wire")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) is_answer: bool,
    pub(super) is_push: bool,
    pub(super) command: String,
    pub(super) number: u64,
    pub(super) id: String,
    pub(super) module: String,
    pub(super) wants_receipt: bool,
    pub(super) status: u64,
}

/// The kinds of frames that come without being asked for: answers, what is pushed, and receipts.
const ANSWER: u64 = 1;
const PUSH: u64 = 2;
const RECEIPT: u64 = 3;

impl Frame {
    /// A request.
    pub(super) fn request(command: &str, module: &str, id: &str, number: u64) -> Self {
        Self(Message::default().text(2, command).count(3, number).text(4, id).text(5, module))
    }

    /// The receipt for what was pushed.
    pub(super) fn receipt(of: &Head) -> Self {
        let head = Message::default().count(1, RECEIPT).text(2, &of.command).count(3, of.number);
        Self(head.text(4, &of.id).text(5, &of.module))
    }

    /// With its body.
    pub(super) fn encode(&self, body: &Message) -> Vec<u8> {
        Message::default().message(1, &self.0).message(2, body).encode()
    }

    /// Head and body of what came.
    pub(super) fn decode(bytes: &[u8]) -> Option<(Head, Message)> {
        let whole = Message::decode(bytes)?;
        let head = whole.inner(1)?;
        let body = whole.inner(2).unwrap_or_default();
        let head = Head {
            is_answer: head.number(1) == ANSWER,
            is_push: head.number(1) == PUSH,
            command: head.said(2),
            number: head.number(3),
            id: head.said(4),
            module: head.said(5),
            wants_receipt: head.number(6) != 0,
            status: head.number(10),
        };
        Some((head, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nonsense_is_none() {
        let inner = Message::default().text(1, "Ada").count(3, 300);
        let body = Message::default().message(3, &inner).message(3, &inner).count(1, u64::MAX);
        let bytes = Frame::request("ping", "conn_access", "a1", 7).encode(&body);
        let (head, read) = Frame::decode(&bytes).unwrap();
        let asked = Head {
            command: "ping".to_owned(),
            number: 7,
            id: "a1".to_owned(),
            module: "conn_access".to_owned(),
            ..Head::default()
        };
        assert_eq!(head, asked);
        assert_eq!(read, body);
        assert_eq!((read.all(3).len(), read.number(1)), (2, u64::MAX));
        assert_eq!(read.inner(3).unwrap().said(1), "Ada");
        // A length beyond the end, and a number that never ends.
        for bad in [&[0x0a, 0x7f][..], &[0xff; 12], &[0x0b]] {
            assert_eq!(Message::decode(bad), None, "{bad:?}");
        }
        // Fields of fixed width are passed over.
        let wide = [&[0x09][..], &[0; 8], &[0x18, 0x05]].concat();
        assert_eq!(Message::decode(&wide).unwrap().number(3), 5);
    }
}
