//! Styled text: pieces with a style each, joined to lines, cut and wrapped by their width on screen.
//!
//! Nothing here knows a terminal; escape sequences are written only by [`Line::ansi`].

mod breaks;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::skin::Skin;

/// What a colour says; which one it is depends on the [`Skin`].
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

    fn codes(self, skin: Skin) -> String {
        if !skin.is_styled() {
            return String::new();
        }
        let shown = |(mark, code): &(u8, &str)| {
            let faint = *mark == FAINT;
            let counts = self.marks & mark != 0 && !(faint && self.colour.is_some());
            counts.then(|| if faint { skin.faint() } else { (*code).to_owned() })
        };
        let marks = MARKS.iter().filter_map(shown);
        let codes: Vec<String> =
            marks.chain(self.colour.and_then(|colour| skin.code(colour))).collect();
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

    /// The text with the escape sequences of a skin.
    pub fn ansi(&self, skin: Skin) -> String {
        let mut out = String::new();
        for (style, text) in &self.pieces {
            let codes = style.codes(skin);
            if codes.is_empty() {
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
            for cluster in text.graphemes(true) {
                let width = cluster.width();
                if width > left {
                    out.push(*style, &kept);
                    out.push(*style, "…");
                    return out;
                }
                left -= width;
                kept.push_str(cluster);
            }
            out.push(*style, &kept);
        }
        out
    }

    /// Broken between words into lines of at most so many columns; longer words are broken between
    /// their letters.
    pub fn wrapped(&self, columns: usize) -> Vec<Self> {
        let columns = columns.max(1);
        let mut lines = vec![Self::new()];
        let mut used = 0;
        for word in self.words() {
            let (width, solid) = (word.width(), word.text().trim_end().width());
            if used > 0 && used + solid > columns {
                lines.push(Self::new());
                used = 0;
            }
            if used == 0 && lines.len() > 1 && solid == 0 {
                continue;
            }
            if solid <= columns {
                used += width;
                last(&mut lines).extend(&word);
                continue;
            }
            for (style, cluster) in word.clusters() {
                let width = cluster.width();
                if used + width > columns && used > 0 {
                    lines.push(Self::new());
                    used = 0;
                }
                used += width;
                last(&mut lines).push(style, cluster);
            }
        }
        for line in &mut lines {
            line.trim_end();
        }
        lines
    }

    /// What stays together when it is wrapped, whatever its styles are.
    fn words(&self) -> Vec<Self> {
        let mut words: Vec<Self> = Vec::new();
        for (style, text) in &self.pieces {
            for part in text.split_inclusive(' ').flat_map(breaks::parts) {
                let before = words.last().and_then(|word| word.pieces.last());
                if before.is_none_or(|(_, before)| breaks::between(before, part)) {
                    words.push(Self::new());
                }
                last(&mut words).push(*style, part);
            }
        }
        words
    }

    /// The styled pieces.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (Style, &str)> {
        self.pieces.iter().map(|(style, text)| (*style, text.as_str()))
    }

    /// What a reader takes for one letter each.
    fn clusters(&self) -> impl Iterator<Item = (Style, &str)> {
        self.pieces().flat_map(|(style, text)| text.graphemes(true).map(move |it| (style, it)))
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

/// Signs that turn the order of what follows, and could make a text look like another.
fn turns(sign: char) -> bool {
    matches!(sign, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Tabs become spaces, other control signs their pictures.
fn visible(text: &str) -> String {
    if !text.contains(|sign: char| sign.is_control() || turns(sign)) {
        return text.to_owned();
    }
    text.chars().fold(String::with_capacity(text.len()), |mut out, sign| {
        match sign {
            '\t' => out.push_str("    "),
            '\n' => out.push(' '),
            '\r' => {}
            '\u{7f}' => out.push('␡'),
            sign if turns(sign) => out.push('\u{fffd}'),
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
        assert_eq!(line.ansi(Skin::Bare), line.text());
        assert_eq!(line.ansi(Skin::Terminal), format!("\u{1b}[1m{}\u{1b}[0m", line.text()));
        let turned = Line::of(Style::PLAIN, "a\u{202e}b\u{2066}c");
        assert_eq!(turned.text(), "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn a_style_in_the_middle_of_a_word_does_not_break_it() {
        let mut line = Line::of(Style::PLAIN, "see the ");
        line.push(Style::BOLD, "command");
        line.push(Style::PLAIN, ", please");
        let texts: Vec<String> = line.wrapped(15).iter().map(Line::text).collect();
        assert_eq!(texts, ["see the", "command, please"]);
    }

    #[test]
    fn scripts_without_blanks_are_broken_where_their_readers_expect_it() {
        let texts = |text: &str, columns: usize| -> Vec<String> {
            Line::of(Style::PLAIN, text).wrapped(columns).iter().map(Line::text).collect()
        };
        // It begins in the line that has room, and no line begins with a full stop.
        assert_eq!(texts("OK 日本語です。次の行", 15), ["OK 日本語です。", "次の行"]);
        assert_eq!(texts("日本語「引用」です", 8), ["日本語", "「引用」", "です"]);
        // Families stay together.
        assert_eq!(texts("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 4), ["👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧"]);
        assert_eq!(Line::of(Style::PLAIN, "a👩‍👩‍👧b").cut(3).text(), "a…");
    }

    #[test]
    fn a_skin_decides_what_a_colour_is() {
        let line = Line::of(Style::of(Colour::Red).bold(), "x");
        let shown = |skin| line.ansi(skin).replace('\u{1b}', "^");
        assert_eq!(shown(Skin::Terminal), "^[1;31mx^[0m");
        assert_eq!(shown(Skin::Light), "^[1;38;5;160mx^[0m");
        assert_eq!(shown(Skin::Mono), "^[1mx^[0m");
        assert_eq!(shown(Skin::Bare), "x");
        let faint = Line::of(Style::FAINT, "x").ansi(Skin::Dark).replace('\u{1b}', "^");
        assert_eq!(faint, "^[38;5;247mx^[0m");
    }

    #[test]
    fn a_cut_line_says_that_something_is_missing() {
        assert_eq!(Line::of(Style::PLAIN, "abcdef").cut(4).text(), "abc…");
        assert_eq!(Line::of(Style::PLAIN, "abcd").cut(4).text(), "abcd");
    }
}
