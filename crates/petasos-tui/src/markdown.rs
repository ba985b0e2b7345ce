//! Markdown as it arrives: finished blocks become lines once and for all, the last one stays soft.
//!
//! A block is finished when another one has begun behind it; a long one in parts. What comes out does
//! not depend on where the stream was cut. Code is finished line by line.

mod block;
mod fence;
mod part;
mod table;

use pulldown_cmark::{Event, Options, Parser};

use crate::line::Line;
use fence::Fence;

/// Where lines go: how wide it is, and whether colours are welcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Canvas {
    /// Columns.
    pub columns: usize,
    /// Whether styles are shown; without them the signs of Markdown stay.
    pub colour: bool,
}

/// A whole text at once.
pub fn render(text: &str, canvas: Canvas) -> Vec<Line> {
    let mut stream = Stream::default();
    let mut lines = stream.push(text, canvas);
    lines.extend(stream.finish(canvas));
    lines
}

/// A text in pieces.
#[derive(Debug, Default)]
pub struct Stream {
    /// What has not been finished yet, from the beginning of a block.
    pending: String,
    fence: Option<Fence>,
    /// Whether a block was finished before, so that the next one needs a gap.
    begun: bool,
    /// The beginning of the block that is pending was finished already.
    inside: bool,
    /// How long the pending text was when it was last looked at.
    looked: usize,
}

impl Stream {
    /// Takes a piece and gives the lines that are finished by it.
    pub fn push(&mut self, piece: &str, canvas: Canvas) -> Vec<Line> {
        self.pending.push_str(piece);
        let mut lines = Vec::new();
        let grown = self.pending.len() >= self.looked + canvas.columns;
        if piece.contains('\n') || grown {
            while self.advance(canvas, &mut lines) {}
            self.looked = self.pending.len();
        }
        lines
    }

    /// What is not finished, as it looks now.
    pub fn tail(&self, canvas: Canvas) -> Vec<Line> {
        if self.pending.trim().is_empty() {
            return Vec::new();
        }
        let mut lines = Vec::new();
        if let Some(fence) = &self.fence {
            lines.push(fence.clone().line(&self.pending));
            return lines;
        }
        self.gap(&mut lines);
        match Fence::open(self.pending.trim_end_matches('\n')) {
            Some(fence) => lines.push(fence.opening()),
            None => lines.extend(block::render(&self.pending, canvas)),
        }
        lines
    }

    /// The text is at its end.
    pub fn finish(&mut self, canvas: Canvas) -> Vec<Line> {
        if !self.pending.is_empty() && !self.pending.ends_with('\n') {
            self.pending.push('\n');
        }
        let mut lines = Vec::new();
        while self.advance(canvas, &mut lines) {}
        if let Some(fence) = self.fence.take() {
            // Never closed: the text just ended.
            lines.push(fence.closing());
        } else if !self.pending.trim().is_empty() {
            self.gap(&mut lines);
            lines.extend(block::render(&self.pending, canvas));
        }
        *self = Self::default();
        lines
    }

    /// Whether something was shown or waits to be.
    pub fn is_empty(&self) -> bool {
        !self.begun && self.pending.trim().is_empty()
    }

    /// Finishes one block or one line of code; false when there is none.
    fn advance(&mut self, canvas: Canvas, lines: &mut Vec<Line>) -> bool {
        if let Some(fence) = &mut self.fence {
            let Some((line, rest)) = self.pending.split_once('\n') else { return false };
            if fence.is_closed_by(line) {
                lines.push(fence.closing());
                self.fence = None;
            } else {
                lines.push(fence.line(line));
            }
            self.pending = rest.to_owned();
            return true;
        }
        self.skip_blank_lines();
        let opened = self
            .pending
            .split_once('\n')
            .and_then(|(line, rest)| Some((Fence::open(line)?, rest.to_owned())));
        if let Some((fence, rest)) = opened {
            self.gap(lines);
            lines.push(fence.opening());
            (self.begun, self.fence, self.pending) = (true, Some(fence), rest);
            return true;
        }
        let Some(at) = self.second_block() else { return self.advance_within(canvas, lines) };
        let Some((first, rest)) = self.pending.split_at_checked(at) else { return false };
        let (first, rest) = (first.to_owned(), rest.to_owned());
        let shown = block::render(&first, canvas);
        if !shown.is_empty() {
            self.gap(lines);
            lines.extend(shown);
            self.begun = true;
        }
        (self.pending, self.inside) = (rest, false);
        true
    }

    /// Finishes the beginning of a long block.
    fn advance_within(&mut self, canvas: Canvas, lines: &mut Vec<Line>) -> bool {
        let Some(split) = part::split(&self.pending, canvas) else { return false };
        self.gap(lines);
        lines.extend(split.shown);
        self.pending.drain(..split.at);
        (self.begun, self.inside) = (true, true);
        true
    }

    fn gap(&self, lines: &mut Vec<Line>) {
        if self.begun && !self.inside {
            lines.push(Line::new());
        }
    }

    fn skip_blank_lines(&mut self) {
        while let Some((line, rest)) = self.pending.split_once('\n') {
            if !line.trim().is_empty() {
                break;
            }
            self.pending = rest.to_owned();
        }
    }

    /// Where the second block begins, among the whole lines.
    fn second_block(&self) -> Option<usize> {
        let whole = self.pending.rfind('\n')? + 1;
        let text = self.pending.get(..whole)?;
        let mut depth = 0_usize;
        let mut blocks = 0;
        for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
            let top = depth == 0;
            match event {
                Event::Start(_) => depth += 1,
                Event::End(_) => {
                    depth = depth.saturating_sub(1);
                    continue;
                }
                _ => {}
            }
            if top {
                blocks += 1;
                // The indentation of a block belongs to it.
                let at = text.get(..range.start)?.rfind('\n').map_or(0, |end| end + 1);
                if blocks > 1 && at > 0 {
                    return Some(at);
                }
            }
        }
        None
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

#[cfg(test)]
mod tests;
