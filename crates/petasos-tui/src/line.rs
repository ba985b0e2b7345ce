//! Styled text: pieces with a style each, joined to lines, cut and wrapped by their width on screen.
//!
//! Nothing here knows a terminal; escape sequences are written only by [`Line::ansi`].

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// One of the sixteen colours, which every theme of a terminal gives a readable shade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Errors and dangers.
    Red,
    /// Success, and text in code.
    Green,
    /// Warnings, and numbers in code.
    Yellow,
    /// Functions and links.
    Blue,
    /// Keywords.
    Magenta,
    /// Headings and inline code.
    Cyan,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
        }
    }
}

/// How a piece looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    colour: Option<Colour>,
    marks: u8,
}

const BOLD: u8 = 1;
const FAINT: u8 = 2;
const ITALIC: u8 = 4;
const UNDERLINE: u8 = 8;
const STRUCK: u8 = 16;
const MARKS: [(u8, &str); 5] =
    [(BOLD, "1"), (FAINT, "2"), (ITALIC, "3"), (UNDERLINE, "4"), (STRUCK, "9")];

impl Style {
    /// Like everything else.
    pub const PLAIN: Self = Self { colour: None, marks: 0 };
    /// Of less importance.
    pub const FAINT: Self = Self { colour: None, marks: FAINT };
    /// Of more importance.
    pub const BOLD: Self = Self { colour: None, marks: BOLD };

    /// In a colour.
    pub const fn of(colour: Colour) -> Self {
        Self { colour: Some(colour), marks: 0 }
    }

    /// In this colour instead.
    #[must_use]
    pub const fn in_colour(self, colour: Colour) -> Self {
        Self { colour: Some(colour), ..self }
    }

    /// Bold too.
    #[must_use]
    pub const fn bold(self) -> Self {
        Self { marks: self.marks | BOLD, ..self }
    }

    /// Slanted too.
    #[must_use]
    pub const fn italic(self) -> Self {
        Self { marks: self.marks | ITALIC, ..self }
    }

    /// Underlined too.
    #[must_use]
    pub const fn underlined(self) -> Self {
        Self { marks: self.marks | UNDERLINE, ..self }
    }

    /// Struck through too.
    #[must_use]
    pub const fn struck(self) -> Self {
        Self { marks: self.marks | STRUCK, ..self }
    }

    fn codes(self) -> String {
        let marks = MARKS.iter().filter(|(mark, _)| self.marks & mark != 0).map(|(_, code)| *code);
        let codes: Vec<&str> = marks.chain(self.colour.map(Colour::code)).collect();
        codes.join(";")
    }
}

/// One line of styled pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pieces: Vec<(Style, String)>,
}

impl Line {
    /// An empty line.
    pub fn new() -> Self {
        Self::default()
    }

    /// A line of one piece.
    pub fn of(style: Style, text: &str) -> Self {
        let mut line = Self::new();
        line.push(style, text);
        line
    }

    /// Adds a piece; signs that a terminal would act on are made visible.
    pub fn push(&mut self, style: Style, text: &str) {
        if text.is_empty() {
            return;
        }
        let text = visible(text);
        match self.pieces.last_mut() {
            Some((last, whole)) if *last == style => whole.push_str(&text),
            _ => self.pieces.push((style, text)),
        }
    }

    /// A line in which somebody has marked places in bold red, as questions of approval do. Every
    /// other sign of control is made visible.
    pub fn marked(text: &str) -> Self {
        const OPEN: &str = "\u{1b}[1;31m";
        const CLOSE: &str = "\u{1b}[0m";
        let mut line = Self::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPEN) {
            let (within, behind) = after.split_once(CLOSE).unwrap_or((after, ""));
            line.push(Style::PLAIN, before);
            line.push(Style::of(Colour::Red).bold(), within);
            rest = behind;
        }
        line.push(Style::PLAIN, rest);
        line
    }

    /// Adds another line behind.
    pub fn extend(&mut self, other: &Self) {
        for (style, text) in &other.pieces {
            self.push(*style, text);
        }
    }

    /// Whether it shows nothing.
    pub fn is_empty(&self) -> bool {
        self.pieces.iter().all(|(_, text)| text.is_empty())
    }

    /// Columns it takes.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| text.width()).sum()
    }

    /// The text alone.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The text with escape sequences, or without any.
    pub fn ansi(&self, colour: bool) -> String {
        let mut out = String::new();
        for (style, text) in &self.pieces {
            let codes = style.codes();
            if !colour || codes.is_empty() {
                out.push_str(text);
            } else {
                out.push_str("\u{1b}[");
                out.push_str(&codes);
                out.push('m');
                out.push_str(text);
                out.push_str("\u{1b}[0m");
            }
        }
        out
    }

    /// At most so many columns, with an ellipsis where something is missing.
    #[must_use]
    pub fn cut(&self, columns: usize) -> Self {
        if self.width() <= columns {
            return self.clone();
        }
        let mut left = columns.saturating_sub(1);
        let mut out = Self::new();
        for (style, text) in &self.pieces {
            let mut kept = String::new();
            for sign in text.chars() {
                let width = sign.width().unwrap_or(0);
                if width > left {
                    out.push(*style, &kept);
                    out.push(*style, "…");
                    return out;
                }
                left -= width;
                kept.push(sign);
            }
            out.push(*style, &kept);
        }
        out
    }

    /// Broken between words into lines of at most so many columns; longer words are broken anywhere.
    pub fn wrapped(&self, columns: usize) -> Vec<Self> {
        let columns = columns.max(1);
        let mut lines = vec![Self::new()];
        let mut used = 0;
        for (style, word) in self.words() {
            let width = word.width();
            if used > 0 && used + word.trim_end().width() > columns {
                lines.push(Self::new());
                used = 0;
            }
            if used == 0 && lines.len() > 1 && word.trim().is_empty() {
                continue;
            }
            if width <= columns || word.trim_end().width() <= columns {
                used += width;
                last(&mut lines).push(style, &word);
                continue;
            }
            for sign in word.chars() {
                let width = sign.width().unwrap_or(0);
                if used + width > columns {
                    lines.push(Self::new());
                    used = 0;
                }
                used += width;
                last(&mut lines).push(style, sign.encode_utf8(&mut [0; 4]));
            }
        }
        for line in &mut lines {
            line.trim_end();
        }
        lines
    }

    fn words(&self) -> Vec<(Style, String)> {
        let mut words = Vec::new();
        for (style, text) in &self.pieces {
            words.extend(text.split_inclusive(' ').map(|word| (*style, word.to_owned())));
        }
        words
    }

    /// Without spaces at its end.
    pub(crate) fn trim_end(&mut self) {
        while let Some((_, text)) = self.pieces.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            self.pieces.pop();
        }
    }
}

fn last(lines: &mut [Line]) -> &mut Line {
    let at = lines.len() - 1;
    &mut lines[at]
}

/// Tabs become spaces, other control signs their pictures.
fn visible(text: &str) -> String {
    if !text.contains(|sign: char| sign.is_control()) {
        return text.to_owned();
    }
    text.chars().fold(String::with_capacity(text.len()), |mut out, sign| {
        match sign {
            '\t' => out.push_str("    "),
            '\n' => out.push(' '),
            '\r' => {}
            '\u{7f}' => out.push('␡'),
            sign if sign.is_control() => {
                out.push(
                    char::from_u32(0x2400 + u32::from(sign)).filter(|_| sign < ' ').unwrap_or('␦'),
                );
            }
            sign => out.push(sign),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_wrapped_between_words_and_never_wider_than_asked() {
        let line = Line::of(Style::PLAIN, "one two three 日本語日本語 extraordinarily");
        for columns in 1..30 {
            let lines = line.wrapped(columns);
            let widest = lines.iter().map(Line::width).max().unwrap_or_default();
            assert!(widest <= columns.max(2), "{columns}: {lines:?}");
            let said: String = lines.iter().map(Line::text).collect::<String>().replace(' ', "");
            assert_eq!(said, line.text().replace(' ', ""), "{columns}");
        }
        let texts: Vec<String> = line.wrapped(8).iter().map(Line::text).collect();
        assert_eq!(texts.first().map(String::as_str), Some("one two"));
    }

    #[test]
    fn nothing_reaches_the_terminal_that_it_would_act_on() {
        let line = Line::of(Style::BOLD, "a\u{1b}]0;title\u{7}b\u{9b}c");
        assert_eq!(line.text(), "a␛]0;title␇b␦c");
        assert_eq!(line.ansi(false), line.text());
        assert_eq!(line.ansi(true), format!("\u{1b}[1m{}\u{1b}[0m", line.text()));
    }

    #[test]
    fn a_cut_line_says_that_something_is_missing() {
        assert_eq!(Line::of(Style::PLAIN, "abcdef").cut(4).text(), "abc…");
        assert_eq!(Line::of(Style::PLAIN, "abcd").cut(4).text(), "abcd");
    }
}
