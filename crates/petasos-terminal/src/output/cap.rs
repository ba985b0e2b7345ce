//! Keeps the beginning and the end of a text of any length, counted in characters.

use std::collections::VecDeque;

use petasos_contract::path::HostPath;

/// The share of the beginning, in percent.
const HEAD_PERCENT: usize = 40;

/// The first and the last characters of a stream.
#[derive(Debug)]
pub(super) struct HeadTail {
    head_max: usize,
    tail_max: usize,
    head: String,
    head_chars: usize,
    tail: VecDeque<(String, usize)>,
    tail_chars: usize,
    total_chars: u64,
}

impl HeadTail {
    pub(super) fn new(chars_max: usize) -> Self {
        let head_max = chars_max * HEAD_PERCENT / 100;
        Self {
            head_max,
            tail_max: chars_max - head_max,
            head: String::new(),
            head_chars: 0,
            tail: VecDeque::new(),
            tail_chars: 0,
            total_chars: 0,
        }
    }

    /// Whether the whole would no longer be kept with this text.
    pub(super) fn overflows_with(&self, text: &str) -> bool {
        let room = (self.head_max + self.tail_max) as u64;
        self.total_chars > room
            || self.total_chars + text.len() as u64 > room
                && self.total_chars + text.chars().count() as u64 > room
    }

    /// Everything so far; meaningful only while nothing was dropped.
    pub(super) fn kept(&self) -> String {
        let tail = self.tail.iter().map(|(text, _)| text.as_str());
        std::iter::once(self.head.as_str()).chain(tail).collect()
    }

    pub(super) fn push(&mut self, text: String) {
        let chars = text.chars().count();
        self.total_chars += chars as u64;
        let room = self.head_max - self.head_chars;
        if room == 0 {
            self.push_tail(text, chars);
            return;
        }
        let cut = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
        let (head, tail) = text.split_at(cut);
        let head_chars = chars.min(room);
        self.head.push_str(head);
        self.head_chars += head_chars;
        if !tail.is_empty() {
            self.push_tail(tail.to_owned(), chars - head_chars);
        }
    }

    fn push_tail(&mut self, text: String, chars: usize) {
        self.tail.push_back((text, chars));
        self.tail_chars += chars;
        while let Some((_, first)) = self.tail.front()
            && self.tail_chars - first >= self.tail_max
        {
            self.tail_chars -= first;
            self.tail.pop_front();
        }
    }

    /// The text, with a notice where something is missing.
    pub(super) fn text(mut self, whole: Option<&HostPath>) -> String {
        let surplus = self.tail_chars.saturating_sub(self.tail_max);
        if surplus > 0
            && let Some((first, _)) = self.tail.front_mut()
        {
            let cut = first.char_indices().nth(surplus).map_or(first.len(), |(at, _)| at);
            *first = first.split_off(cut);
        }
        let shown = self.head_chars + self.tail_chars - surplus;
        let missing = self.total_chars - shown as u64;
        let tail: String = self.tail.into_iter().map(|(text, _)| text).collect();
        if missing == 0 {
            return self.head + &tail;
        }
        let place = whole.map_or(String::new(), |path| {
            format!("; the whole output is in {path}, page through it with read_file")
        });
        format!(
            "{}\n\n[output cut: {missing} of {} characters left out here{place}]\n\n{tail}",
            self.head, self.total_chars
        )
    }
}
