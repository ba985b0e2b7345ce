//! Finds our own words in a stream of a command's bytes.
//!
//! A frame is `RS nonce : payload RS nonce .`; the nonce is drawn for each call, so output that
//! merely looks like one is output. A frame may come in any number of pieces.

/// The separator that begins a mark.
const RS: u8 = 0x1e;

/// What a piece of a stream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Output of the command, or of whoever spoke before it.
    Text(Vec<u8>),
    /// A word of ours.
    Frame(Vec<u8>),
}

/// Takes frames out of one stream.
#[derive(Debug)]
pub(super) struct Splitter {
    open: Vec<u8>,
    close: Vec<u8>,
    /// What may be the beginning of a mark, or the payload so far.
    held: Vec<u8>,
    in_frame: bool,
}

impl Splitter {
    pub(super) fn new(nonce: &str) -> Self {
        let mark = |end: char| format!("{}{nonce}{end}", char::from(RS)).into_bytes();
        Self { open: mark(':'), close: mark('.'), held: Vec::new(), in_frame: false }
    }

    /// Takes bytes and gives what they were, in order.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        self.held.extend_from_slice(bytes);
        loop {
            let mark = if self.in_frame { &self.close } else { &self.open };
            let Some(at) = find(&self.held, mark) else { break };
            let rest = self.held.split_off(at + mark.len());
            let mut before = std::mem::replace(&mut self.held, rest);
            before.truncate(at);
            if self.in_frame {
                pieces.push(Piece::Frame(before));
            } else if !before.is_empty() {
                pieces.push(Piece::Text(before));
            }
            self.in_frame = !self.in_frame;
        }
        if !self.in_frame {
            let keep = unfinished(&self.held, &self.open);
            let rest = self.held.split_off(self.held.len() - keep);
            let text = std::mem::replace(&mut self.held, rest);
            if !text.is_empty() {
                pieces.push(Piece::Text(text));
            }
        }
        pieces
    }

    /// What was held back, when nothing more can come.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.in_frame = false;
        std::mem::take(&mut self.held)
    }
}

fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let tail = bytes.get(from..)?;
        let at = from + tail.iter().position(|byte| *byte == RS)?;
        if bytes.get(at..).is_some_and(|rest| rest.starts_with(mark)) {
            return Some(at);
        }
        from = at + 1;
    }
}

/// How many of the last bytes may begin a mark.
fn unfinished(bytes: &[u8], mark: &[u8]) -> usize {
    let longest = bytes.len().min(mark.len().saturating_sub(1));
    (1..=longest)
        .rev()
        .find(|count| {
            let tail = bytes.get(bytes.len() - count..).unwrap_or_default();
            mark.starts_with(tail)
        })
        .unwrap_or(0)
}

/// What a frame says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word {
    /// It begins: its process number and, for a job, when that began.
    Began(u32, u64),
    /// A shell that was started ahead waits for orders.
    Ready,
    /// The working directory cannot be entered.
    NoCwd(String),
    /// A job could not be set up.
    NotKept(String),
    /// There is no such job.
    Gone,
    /// It ended: its code, how many processes it left, and what its shell left.
    Ended(i32, u32, Vec<u8>),
    /// All output before this one has come.
    Drained,
}

/// Reads a frame.
pub(super) fn word(frame: &[u8]) -> Option<Word> {
    let (kind, rest) = frame.split_first()?;
    let text = || String::from_utf8_lossy(rest).trim().to_owned();
    match kind {
        b'B' => {
            let text = text();
            let mut words = text.split(' ');
            let pid = words.next()?.parse().ok()?;
            Some(Word::Began(pid, words.next().and_then(|word| word.parse().ok()).unwrap_or(0)))
        }
        b'R' => Some(Word::Ready),
        b'C' => Some(Word::NoCwd(text())),
        b'S' => Some(Word::NotKept(text())),
        b'G' => Some(Word::Gone),
        b'O' => Some(Word::Drained),
        b'E' => {
            let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let (first, left) = rest.split_at_checked(end)?;
            let first = String::from_utf8_lossy(first);
            let mut words = first.split_whitespace();
            let code = words.next()?.parse().ok()?;
            let survivors = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
            Some(Word::Ended(code, survivors, left.get(1..).unwrap_or_default().to_vec()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_however_they_are_cut() {
        let stream = b"a\x1eN\x1eN:B7\x1eN.b\x1e\x1eN:E3 1\n/tmp\nx\x1eN.c\x1eN";
        for size in 1..stream.len() {
            let mut splitter = Splitter::new("N");
            let mut pieces = Vec::new();
            for piece in stream.chunks(size) {
                pieces.extend(splitter.push(piece));
            }
            let (mut text, mut words) = (Vec::new(), Vec::new());
            for piece in pieces {
                match piece {
                    Piece::Text(bytes) => text.extend(bytes),
                    Piece::Frame(frame) => words.extend(word(&frame)),
                }
            }
            assert!(!text.ends_with(b"\x1eN"), "{size}");
            text.extend(splitter.finish());
            assert_eq!(text, b"a\x1eNb\x1ec\x1eN", "{size}");
            let ended = Word::Ended(3, 1, b"/tmp\nx".to_vec());
            assert_eq!(words, [Word::Began(7, 0), ended], "{size}");
        }
    }
}
