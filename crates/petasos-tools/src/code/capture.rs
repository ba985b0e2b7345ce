//! Keeps the beginning and the end of what a script prints, and counts the rest.

use petasos_contract::Settings;

use petasos_redact::Redactor;

/// More is kept than shown, so that a secret at the cut is seen whole and masked.
const SLACK: usize = 4096;

/// One stream of a script.
#[derive(Debug)]
pub(crate) struct Capture {
    head_max: usize,
    tail_max: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// How many bytes were printed.
    pub(crate) total: u64,
}

/// What is shown of a stream.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// The text, masked.
    pub(crate) text: String,
    /// Bytes that were left out.
    pub(crate) omitted: u64,
}

impl Capture {
    /// Keeps so many bytes: two fifths from the beginning, three from the end.
    pub(crate) fn new(most: usize) -> Self {
        let head_max = most * 2 / 5;
        Self { head_max, tail_max: most - head_max, head: Vec::new(), tail: Vec::new(), total: 0 }
    }

    /// Takes what was printed.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.head_max + SLACK).saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        self.tail.extend_from_slice(rest);
        // Cut seldom: moving the rest to the front costs as much as it is long.
        let most = self.tail_max + SLACK;
        if self.tail.len() > most * 2 {
            self.tail.drain(..self.tail.len() - most);
        }
    }

    /// What is shown of it.
    pub(crate) fn shown(&self, settings: &Settings) -> Shown {
        let whole = self.head_max + self.tail_max;
        let redactor = Redactor::of(settings);
        let decoded = |bytes: &[u8]| redactor.text(&String::from_utf8_lossy(bytes)).into_owned();
        if self.total <= whole as u64 {
            return Shown { text: decoded(&[&self.head[..], &self.tail].concat()), omitted: 0 };
        }
        // The kept parts may touch or even be the whole; the end is taken from both.
        let joined = [&self.head[..], &self.tail].concat();
        let is_gapless = joined.len() as u64 == self.total;
        let end = if is_gapless { &joined } else { &self.tail };
        let (head, tail) = (decoded(&self.head), decoded(end));
        let head: &str = &head;
        let head = head.get(..floor(head, self.head_max)).unwrap_or_default();
        let tail: &str = &tail;
        let from = ceil(tail, tail.len().saturating_sub(self.tail_max));
        let tail = tail.get(from..).unwrap_or_default();
        let omitted = self.total.saturating_sub((self.head_max + self.tail_max) as u64);
        Shown { text: format!("{head}\n… [{omitted} bytes left out] …\n{tail}"), omitted }
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while at < text.len() && !text.is_char_boundary(at) {
        at += 1;
    }
    at.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(most: usize, pieces: &[&str]) -> Shown {
        let mut capture = Capture::new(most);
        for piece in pieces {
            capture.push(piece.as_bytes());
        }
        capture.shown(&Settings::from_values(serde_json::Map::new()))
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        assert_eq!(shown(100, &["abc", "def"]).text, "abcdef");
        let long: String = ('a'..='z').cycle().take(50_000).collect();
        for pieces in [
            vec![long.as_str()],
            long.as_bytes().chunks(999).map(|piece| std::str::from_utf8(piece).unwrap()).collect(),
        ] {
            let cut = shown(100, &pieces);
            assert_eq!(cut.omitted, 49_900);
            assert!(cut.text.starts_with(long.get(..40).unwrap()));
            assert!(cut.text.ends_with(long.get(49_940..).unwrap()));
        }
        let near = shown(100, &["é".repeat(60).as_str()]);
        assert!(near.text.starts_with("éé") && near.text.ends_with("éé") && near.omitted == 20);
    }

    #[test]
    fn a_key_at_the_cut_is_masked_whole() {
        let key = format!("sk-{}", "a1B2".repeat(8));
        let text = format!("{}{key}{}", "x ".repeat(15), " y".repeat(5000));
        assert!(!shown(100, &[&text]).text.contains("sk-a1"));
    }
}
