//! The only writer to the terminal: lines that stay, and below them a live area that is redrawn.
//!
//! Lines that stay go to the scrollback like any program's output. The live area is erased and
//! drawn again as a whole; how many rows it takes is counted with the width of the moment. While a
//! window is being resized nothing is drawn: what is counted now would be wrong when it arrives.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::bidi::{self, Order};
use crate::line::Line;
use crate::markdown::Canvas;
use crate::skin::Skin;
use crate::view::Piece;

/// What the terminal can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its colours, if any are welcome.
    pub skin: Skin,
    /// The cursor can be moved: a terminal that is not dumb.
    pub live: bool,
    /// Who orders text from right to left.
    pub order: Order,
}

impl Look {
    /// Whether styles are shown.
    pub fn is_styled(self) -> bool {
        self.skin.is_styled()
    }
}

const USUAL: (usize, usize) = (80, 24);
/// Narrower windows are not drawn for.
pub(crate) const NARROWEST: usize = 20;
/// A window that kept its size for so long is no longer being resized. tmux shows a new size at once
/// but tells a program of further ones only every 250 ms.
const SETTLES: Duration = Duration::from_millis(400);

/// The terminal.
pub struct Screen {
    out: Box<dyn Write + Send>,
    look: Look,
    /// The rows of the live area.
    live: Vec<Line>,
    size: fn() -> (usize, usize),
    /// The size that was last seen, and when it changed.
    seen: ((usize, usize), Option<Instant>),
    /// Text without an end of line stands on the last line.
    open: bool,
    /// Rows that have to be filled before the composer comes back.
    owed: usize,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").field("look", &self.look).finish_non_exhaustive()
    }
}

impl Screen {
    /// Standard output.
    pub fn stdout(look: Look) -> Self {
        Self::to(Box::new(io::stdout()), look)
    }

    /// Another way to the same terminal.
    pub fn to(out: Box<dyn Write + Send>, look: Look) -> Self {
        Self::new(out, look, terminal_size)
    }

    /// Any other place of a given size.
    pub fn new(out: Box<dyn Write + Send>, look: Look, size: fn() -> (usize, usize)) -> Self {
        let seen = (size(), None);
        Self { out, look, live: Vec::new(), size, seen, open: false, owed: 0 }
    }

    /// What it can do.
    pub fn look(&self) -> Look {
        self.look
    }

    /// Columns and rows.
    pub fn size(&self) -> (usize, usize) {
        let (columns, rows) = (self.size)();
        (columns.max(NARROWEST), rows.max(6))
    }

    /// Whether the window has kept its size for a moment.
    pub fn is_settled(&mut self) -> bool {
        let size = (self.size)();
        if size != self.seen.0 {
            self.seen = (size, Some(Instant::now()));
        }
        self.seen.1.is_none_or(|changed| changed.elapsed() >= SETTLES)
    }

    /// Where Markdown goes: one column less, so that no line wraps by itself.
    pub fn canvas(&self) -> Canvas {
        Canvas { columns: self.size().0 - 1, colour: self.look.is_styled() }
    }

    /// Lines that stay, and the live area below them.
    pub fn draw(&mut self, stay: &[Line], live: &[Line]) {
        let (columns, height) = self.size();
        // A live area that is taller than the window could not be erased again.
        let over = live.len().saturating_sub(height - 1);
        let live: Vec<Line> = if self.look.live {
            live.iter().skip(over).map(|line| line.cut(columns - 1)).collect()
        } else {
            Vec::new()
        };
        if stay.is_empty() && live == self.live {
            return;
        }
        let mut text = self.erased();
        let end = self.end();
        if self.open && !stay.is_empty() {
            text.push_str(end);
            self.open = false;
        }
        self.owed = self.owed.saturating_sub(stay.len());
        for line in stay {
            text.push_str(&self.text(line));
            text.push_str(end);
        }
        for (at, row) in live.iter().enumerate() {
            if at > 0 {
                text.push_str("\r\n");
            }
            text.push_str(&self.text(row));
        }
        self.live = live;
        self.write(&text);
    }

    /// A line as it is written to this terminal.
    pub(crate) fn text(&self, line: &Line) -> String {
        match self.look.order {
            Order::Terminal => line.ansi(self.look.skin),
            Order::Reorder => bidi::visual(line).ansi(self.look.skin),
        }
    }

    /// Other colours from here on.
    pub(crate) fn paint(&mut self, skin: Skin) {
        self.look.skin = skin;
    }

    /// What stays, in its order, and the live area below.
    pub(crate) fn show(&mut self, pieces: Vec<Piece>, live: &[Line]) {
        let mut lines = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Line(stays) => lines.push(stays),
                Piece::Raw(text) => {
                    self.draw(&std::mem::take(&mut lines), &[]);
                    self.plain(&text);
                }
            }
        }
        self.draw(&lines, live);
    }

    /// A picture, as the terminal takes it, on lines of its own.
    pub(crate) fn picture(&mut self, sequence: &str) {
        let text = format!("{}{sequence}\r\n", self.erased());
        self.write(&text);
    }

    /// Lines that stay.
    pub fn lines(&mut self, stay: &[Line]) {
        self.draw(stay, &[]);
    }

    /// Text as it is, for terminals that cannot redraw; no signs of control pass.
    pub fn plain(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.open = !text.ends_with('\n');
        let shown: Vec<String> = text
            .split('\n')
            .map(|line| self.text(&Line::of(crate::line::Style::PLAIN, line)))
            .collect();
        self.write(&shown.join(self.end()));
    }

    /// The end of a line: a live terminal takes every sign as it is.
    fn end(&self) -> &'static str {
        if self.look.live { "\r\n" } else { "\n" }
    }

    /// Ends a line of plain text.
    pub fn end_line(&mut self) {
        if self.open {
            self.open = false;
            self.write(self.end());
        }
    }

    /// The terminal has ended the line itself: somebody pressed Enter.
    pub(crate) fn entered(&mut self) {
        self.open = false;
    }

    /// Takes the rows of the composer, whose cursor is in the last of them. The composer would take a
    /// cursor that is still among them for an unchanged screen, so they have to be filled.
    pub(crate) fn erase_composer(&mut self, has_status: bool) {
        if !self.look.live {
            return self.end_line();
        }
        // Erasing all below the first row of the window would flood the history of tmux.
        let rows = if has_status { "\r\u{1b}[J\u{1b}[1A\u{1b}[2K" } else { "\r\u{1b}[2K" };
        self.owed = if has_status { 3 } else { 2 };
        self.write(rows);
    }

    /// Before the composer comes back.
    pub(crate) fn make_room(&mut self) {
        let rows = "\r\n".repeat(std::mem::take(&mut self.owed));
        self.write(&rows);
    }

    /// Below whatever the composer left on the screen.
    pub(crate) fn below(&mut self) {
        if self.look.live {
            self.write("\r\n\u{1b}[J");
        }
        self.end_line();
    }

    /// Whatever stood there: a clean screen.
    pub fn clear(&mut self) {
        if self.look.live {
            self.live.clear();
            self.write("\u{1b}[H\u{1b}[2J");
        }
    }

    /// Hands a text to the clipboard of the terminal; whether it may have one.
    pub fn copy(&mut self, text: &str) -> bool {
        if self.look.live {
            self.write(&format!("\u{1b}]52;c;{}\u{7}", BASE64.encode(text)));
        }
        self.look.live
    }

    /// A sound.
    pub fn ring(&mut self) {
        self.write("\u{7}");
    }

    /// Makes pasted text arrive as one piece, or no longer.
    pub(crate) fn bracketed(&mut self, on: bool) {
        if self.look.live {
            self.write(if on { "\u{1b}[?2004h" } else { "\u{1b}[?2004l" });
        }
    }

    /// What erases the live area.
    fn erased(&mut self) -> String {
        if self.live.is_empty() {
            return String::new();
        }
        let columns = self.size().0;
        let rows: usize = self.live.drain(..).map(|row| row.width().div_ceil(columns).max(1)).sum();
        // Row by row: tmux moves the whole screen into its history when all below the first row is
        // erased at once.
        let above = "\u{1b}[1A\u{1b}[2K".repeat(rows.saturating_sub(1));
        format!("\r\u{1b}[2K{above}")
    }

    /// A terminal that is gone is noticed by whoever reads from it.
    fn write(&mut self, text: &str) {
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).unwrap_or_default();
    }
}

fn terminal_size() -> (usize, usize) {
    match crossterm::terminal::size() {
        Ok((columns, rows)) if columns > 0 => (columns.into(), rows.into()),
        _ => USUAL,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;
    use crate::line::Style;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(look: Look, act: impl FnOnce(&mut Screen)) -> String {
        let paper = Paper::default();
        let mut screen = Screen::new(Box::new(paper.clone()), look, || (30, 10));
        act(&mut screen);
        let bytes = paper.0.lock().clone();
        String::from_utf8(bytes).unwrap().replace('\u{1b}', "^")
    }

    #[test]
    fn the_live_area_is_erased_before_lines_that_stay() {
        let look = Look { skin: Skin::Bare, live: true, order: Order::Terminal };
        let line = |text: &str| Line::of(Style::PLAIN, text);
        let text = written(look, |screen| {
            screen.draw(&[], &[line("a"), line("b")]);
            screen.draw(&[line("done")], &[line("c")]);
            screen.lines(&[line("end")]);
        });
        assert_eq!(text, "a\r\nb\r^[2K^[1A^[2Kdone\r\nc\r^[2Kend\r\n");
    }

    #[test]
    fn a_picture_stands_where_the_live_area_was() {
        let look = Look { skin: Skin::Bare, live: true, order: Order::Terminal };
        let line = |text: &str| Line::of(Style::PLAIN, text);
        let text = written(look, |screen| {
            screen.draw(&[], &[line("a"), line("b")]);
            screen.picture("\u{1b}_Gx\u{1b}\\");
            screen.draw(&[], &[line("c")]);
        });
        assert_eq!(text, "a\r\nb\r^[2K^[1A^[2K^_Gx^\\\r\nc");
    }

    #[test]
    fn what_is_there_already_is_not_drawn_again() {
        let look = Look { skin: Skin::Bare, live: true, order: Order::Terminal };
        let line = Line::of(Style::PLAIN, "a");
        let text = written(look, |screen| {
            for _ in 0..3 {
                screen.draw(&[], std::slice::from_ref(&line));
            }
            assert!(screen.is_settled());
        });
        assert_eq!(text, "a");
    }

    #[test]
    fn a_live_area_is_never_taller_than_the_window() {
        let look = Look { skin: Skin::Bare, live: true, order: Order::Terminal };
        let rows: Vec<Line> =
            (0..40).map(|at| Line::of(Style::PLAIN, &format!("row {at}"))).collect();
        let text = written(look, |screen| screen.draw(&[], &rows));
        assert_eq!((text.matches("row").count(), text.contains("row 39")), (9, true), "{text}");
    }

    #[test]
    fn a_dumb_terminal_gets_no_live_area_and_no_escapes() {
        let look = Look { skin: Skin::Bare, live: false, order: Order::Terminal };
        let text = written(look, |screen| {
            screen.plain("wor");
            screen.plain("ds\u{1b}[2J");
            let line = Line::of(Style::BOLD, "x");
            screen.draw(std::slice::from_ref(&line), std::slice::from_ref(&line));
        });
        assert_eq!(text, "words␛[2J\nx\n");
    }
}
