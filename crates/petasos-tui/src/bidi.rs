//! Right-to-left text for terminals that show every sign where it was written.
//!
//! Many terminals order such text themselves, so it is written as it is read unless the person says
//! otherwise (`display.bidi: reorder`). Each part of a row is ordered by itself: bars of tables and
//! the signs before a paragraph stay where they are.

use unicode_bidi::BidiInfo;
use unicode_segmentation::UnicodeSegmentation as _;

use crate::line::{Line, Style};

/// The bars between the cells of a table.
const BAR: char = '│';

/// Who puts right-to-left text in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The terminal: text is written as it is read.
    #[default]
    Terminal,
    /// We: text is written as it is seen.
    Reorder,
}

impl Order {
    /// By its name in the configuration.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "terminal" => Some(Self::Terminal),
            "reorder" => Some(Self::Reorder),
            _ => None,
        }
    }
}

/// The line as it is seen, from left to right.
pub(crate) fn visual(line: &Line) -> Line {
    let text = line.text();
    if !text.chars().any(is_right_to_left) {
        return line.clone();
    }
    let mut out = Line::new();
    let mut at = 0;
    for part in text.split_inclusive(BAR) {
        let bar = if part.ends_with(BAR) { BAR.len_utf8() } else { 0 };
        let cell = part.len() - bar;
        let cell = part.get(..cell).unwrap_or_default().trim_end().len();
        let before = part.find(char::is_alphabetic).unwrap_or(cell).min(cell);
        let copy = |out: &mut Line, from: usize, until: usize| {
            for (style, piece) in line.between(from, until) {
                out.push(style, piece);
            }
        };
        copy(&mut out, at, at + before);
        ordered(line, part.get(before..cell).unwrap_or_default(), at + before, &mut out);
        copy(&mut out, at + cell, at + part.len());
        at += part.len();
    }
    out
}

/// Letters of scripts that are written from right to left.
fn is_right_to_left(sign: char) -> bool {
    matches!(sign,
        '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
}

/// One part of a line that begins at this byte of it.
fn ordered(line: &Line, text: &str, from: usize, out: &mut Line) {
    let info = BidiInfo::new(text, None);
    for paragraph in &info.paragraphs {
        let (levels, runs) = info.visual_runs(paragraph, paragraph.range.clone());
        for run in runs {
            let backwards = levels.get(run.start).is_some_and(unicode_bidi::Level::is_rtl);
            let begin = run.start;
            let clusters = text.get(run).unwrap_or_default().grapheme_indices(true);
            let mut clusters: Vec<(usize, &str)> = clusters.collect();
            if backwards {
                clusters.reverse();
            }
            for (at, cluster) in clusters {
                let place = from + begin + at;
                let styled = line.between(place, place + cluster.len());
                let style = styled.first().map(|(style, _)| *style).unwrap_or_default();
                out.push(style, if backwards { mirrored(cluster) } else { cluster });
            }
        }
    }
}

/// What opens from the left closes from the right.
fn mirrored(sign: &str) -> &str {
    match sign {
        "(" => ")",
        ")" => "(",
        "[" => "]",
        "]" => "[",
        "{" => "}",
        "}" => "{",
        "<" => ">",
        ">" => "<",
        "«" => "»",
        "»" => "«",
        other => other,
    }
}

impl Line {
    /// The styled text between two bytes.
    fn between(&self, from: usize, until: usize) -> Vec<(Style, &str)> {
        let mut begin = 0;
        let mut found = Vec::new();
        for (style, text) in self.pieces() {
            let (first, last) = (from.max(begin), until.min(begin + text.len()));
            if first < last {
                found.extend(text.get(first - begin..last - begin).map(|part| (style, part)));
            }
            begin += text.len();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Colour;

    fn shown(text: &str) -> String {
        visual(&Line::of(Style::PLAIN, text)).text()
    }

    #[test]
    fn words_from_right_to_left_are_seen_in_order_and_numbers_stay() {
        for (read, seen) in [
            ("plain (words)", "plain (words)"),
            ("אבג", "גבא"),
            ("• אבג דהו", "• והד גבא"),
            ("see אבג now", "see גבא now"),
            ("אבג abc דהו", "והד abc גבא"),
            ("אבג (דהו) 42", "42 (והד) גבא"),
            ("a │ אבג │ ב", "a │ גבא │ ב"),
            ("日本 אב", "日本 בא"),
        ] {
            assert_eq!(shown(read), seen, "{read}");
        }
    }

    #[test]
    fn marks_stay_with_their_letters_and_styles_with_their_words() {
        assert_eq!(shown("שָׁב"), "בשָׁ");
        let mut line = Line::of(Style::BOLD, "אב");
        line.push(Style::of(Colour::Red), "גד");
        let seen = visual(&line);
        assert_eq!(seen.text(), "דגבא");
        let pieces: Vec<(Style, &str)> = seen.pieces().collect();
        assert_eq!(pieces, [(Style::of(Colour::Red), "דג"), (Style::BOLD, "בא")]);
    }
}
