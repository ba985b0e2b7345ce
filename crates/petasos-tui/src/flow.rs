//! Plain text in a narrow window: broken between words and not in them. For terminals that are
//! written to line by line, and for commands that print and end.

use crate::line::{Line, Style};

/// The columns of the window, where standard output is one.
pub fn columns() -> Option<usize> {
    use std::io::IsTerminal as _;
    let (columns, _) = crossterm::terminal::size().ok()?;
    let columns = usize::from(columns);
    (std::io::stdout().is_terminal() && columns >= NARROWEST).then_some(columns)
}

/// A narrower window is none that anybody reads in.
const NARROWEST: usize = 20;

/// Lines of at most so many columns; what follows in a line is indented as it is. Escape sequences
/// take no room, and a word that is longer than the window stays whole.
pub fn folded(text: &str, columns: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| folded_line(line, columns)).collect();
    lines.join("\n")
}

fn folded_line(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let indent = " ".repeat(blanks.min(columns / 2));
    let (mut out, mut at) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let needed = width(word.trim_end_matches(' '));
        if at + needed > columns && at > indent.len() {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(&indent);
            at = indent.len();
        }
        out.push_str(word);
        at += width(word);
    }
    out
}

/// The width on the screen, without escape sequences.
fn width(text: &str) -> usize {
    if !text.contains('\u{1b}') {
        return Line::of(Style::PLAIN, text).width();
    }
    let mut plain = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        if sign == '\u{1b}' {
            signs.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(sign);
        }
    }
    Line::of(Style::PLAIN, &plain).width()
}

/// Words as they come: one is shown when its end has come, on the line where it fits.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    at: usize,
    word: String,
}

impl Flow {
    /// Takes a piece; gives what can be shown.
    pub(crate) fn push(&mut self, piece: &str, columns: usize) -> String {
        let mut out = String::new();
        for sign in piece.chars() {
            match sign {
                '\n' => {
                    self.put(&mut out, columns);
                    out.push('\n');
                    self.at = 0;
                }
                ' ' => {
                    self.put(&mut out, columns);
                    // A blank at the very end would begin the next line.
                    if self.at < columns {
                        out.push(' ');
                        self.at += 1;
                    }
                }
                sign => self.word.push(sign),
            }
        }
        out
    }

    /// The end: what is left of it.
    pub(crate) fn finish(&mut self, columns: usize) -> String {
        let mut out = String::new();
        self.put(&mut out, columns);
        self.at = 0;
        out
    }

    fn put(&mut self, out: &mut String, columns: usize) {
        let word = std::mem::take(&mut self.word);
        let needed = width(&word);
        if self.at + needed > columns && self.at > 0 && needed > 0 {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            self.at = 0;
        }
        out.push_str(&word);
        self.at += needed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_keep_their_indent() {
        assert_eq!(folded("one two three", 7), "one two\nthree");
        assert_eq!(folded("  one two three four", 11), "  one two\n  three\n  four");
        assert_eq!(folded("fits\nand this one too", 8), "fits\nand this\none too");
        let address = "see https://example.com/a/long/path now";
        assert_eq!(folded(address, 12), "see\nhttps://example.com/a/long/path\nnow");
        let painted = "\u{1b}[1mone\u{1b}[0m two";
        assert_eq!(folded(painted, 7), painted, "a style takes no room");
        assert_eq!(folded("日本 日本", 4), "日本\n日本");
    }

    #[test]
    fn words_that_stream_break_where_whole_ones_would() {
        for size in [1, 2, 5, 40] {
            let text = "one two three four\n\nfive sixseven eight";
            let signs: Vec<char> = text.chars().collect();
            let mut flow = Flow::default();
            let mut shown = String::new();
            for piece in signs.chunks(size) {
                shown += &flow.push(&piece.iter().collect::<String>(), 9);
            }
            shown += &flow.finish(9);
            let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
            assert_eq!(lines, ["one two", "three", "four", "", "five", "sixseven", "eight"]);
        }
    }
}
