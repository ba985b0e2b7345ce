//! A numbered window of lines from a stream of any length, in constant memory.
//!
//! Lines outside the window are only counted, and of a line inside it no more is kept than is
//! shown. Counting to the end has a time limit of its own: a page of a huge file is useful even
//! when nobody knows how many more there are.

use std::io::{self, Read};

use super::line;
use super::watch::{Ended, Watch};

const CHUNK_BYTES: usize = 256 * 1024;

/// Which lines are wanted, and how much of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    /// The first line, counted from one.
    pub(crate) first: u64,
    /// How many lines at most.
    pub(crate) lines_max: u64,
    /// How many characters of one line at most.
    pub(crate) line_chars_max: usize,
    /// How many characters altogether at most.
    pub(crate) chars_max: usize,
}

/// What ended the window before the end of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// The number of lines.
    Lines,
    /// The number of characters.
    Chars,
    /// The time.
    Time,
}

/// The window that was read.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The lines, as `N|text`.
    pub(crate) content: String,
    /// How many characters the content has.
    chars: usize,
    /// How many lines the content has.
    pub(crate) lines: u64,
    /// How many of them were cut.
    pub(crate) lines_cut: u64,
    /// What ended it early; there may still be nothing more.
    pub(crate) full: Option<Full>,
    /// Lines in the whole text, as far as it was counted.
    pub(crate) total_lines: u64,
    /// Bytes in the whole text, as far as it was counted.
    pub(crate) total_bytes: u64,
    /// Whether counting stopped before the end.
    pub(crate) is_partial: bool,
}

/// Reads the window and counts the rest; `None` when nobody wants it any more.
pub(crate) fn read(
    mut source: impl Read,
    page: Page,
    watch: &Watch<'_>,
) -> io::Result<Option<Window>> {
    let mut scan = Scan { page, window: Window::default(), line: Vec::new(), is_line_open: false };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = match source.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        scan.take(chunk.get(..length).unwrap_or_default());
        match watch.ended() {
            None => {}
            Some(Ended::Cancelled) => return Ok(None),
            Some(Ended::Late) => {
                scan.window.is_partial = true;
                scan.window.full.get_or_insert(Full::Time);
                return Ok(Some(scan.window));
            }
        }
    }
    Ok(Some(scan.finished()))
}

struct Scan {
    page: Page,
    window: Window,
    /// The beginning of the line that is being read, when it is wanted.
    line: Vec<u8>,
    is_line_open: bool,
}

impl Scan {
    fn take(&mut self, chunk: &[u8]) {
        self.window.total_bytes += chunk.len() as u64;
        let mut rest = chunk;
        while !rest.is_empty() {
            if self.window.full.is_some() {
                self.window.total_lines += memchr::memchr_iter(b'\n', rest).count() as u64;
                self.is_line_open = !rest.ends_with(b"\n");
                return;
            }
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (piece, after) = rest.split_at(end);
            self.keep(piece);
            self.is_line_open = !piece.ends_with(b"\n");
            if !self.is_line_open {
                self.end_line();
            }
            rest = after;
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.window.total_lines + 1 < self.page.first {
            return;
        }
        let room = line::bytes_for(self.page.line_chars_max).saturating_sub(self.line.len());
        self.line.extend_from_slice(piece.get(..room).unwrap_or(piece));
    }

    fn end_line(&mut self) {
        self.window.total_lines += 1;
        let number = self.window.total_lines;
        if number < self.page.first || self.window.full.is_some() {
            return;
        }
        self.show(number);
        self.line.clear();
        if self.window.full.is_none() && self.window.lines >= self.page.lines_max {
            self.window.full = Some(Full::Lines);
        }
    }

    fn show(&mut self, number: u64) {
        let bytes = self.line.as_slice();
        let bytes =
            if number == 1 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) } else { bytes };
        let (mut text, mut is_cut) = line::decoded(bytes, self.page.line_chars_max);
        let room = self.page.chars_max.saturating_sub(self.window.chars);
        let gutter = format!("{number}|");
        if gutter.len() + text.chars().count() >= room {
            self.window.full = Some(Full::Chars);
            if self.window.lines > 0 {
                return;
            }
            // Nothing at all would be a window that never moves on.
            (text, is_cut) = line::decoded(text.as_bytes(), room.saturating_sub(gutter.len()));
        }
        self.window.push(&gutter, &text, is_cut);
    }

    fn finished(mut self) -> Window {
        if self.is_line_open {
            self.end_line();
        }
        self.window
    }
}

impl Window {
    fn push(&mut self, gutter: &str, text: &str, is_cut: bool) {
        if self.lines > 0 {
            self.content.push('\n');
            self.chars += 1;
        }
        self.content.push_str(gutter);
        self.content.push_str(text);
        self.chars += gutter.len() + text.chars().count();
        self.lines += 1;
        self.lines_cut += u64::from(is_cut);
    }
}

#[cfg(test)]
mod tests;
