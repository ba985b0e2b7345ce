//! Colours for code: words, texts, comments and numbers, line by line as a stream brings them.
//!
//! It is a lexer over a table of languages, not a parser: it needs no data files, starts at once
//! and never fails. An unknown language stays plain.

mod languages;

use languages::{Kind, LANGUAGES, Language, Quote, Reach};

use crate::line::{Colour, Line, Style};

const KEYWORD: Style = Style::of(Colour::Magenta);
const CONSTANT: Style = Style::of(Colour::Yellow);
const TEXT: Style = Style::of(Colour::Green);
const COMMENT: Style = Style::FAINT;
const NAME: Style = Style::of(Colour::Blue);

/// Colours the lines of one block of code.
#[derive(Debug, Clone)]
pub struct Highlighter {
    language: Option<&'static Language>,
    /// What the last line left open: what closes it, and its style.
    open: Option<Open>,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    close: &'static str,
    escapes: bool,
    style: Style,
}

impl Highlighter {
    /// For a language by any of its names; the text after a fence may say more than that.
    pub fn new(info: &str) -> Self {
        let name = info.split([' ', ',', '{']).next().unwrap_or_default().to_lowercase();
        let language = LANGUAGES.iter().find(|language| language.names.contains(&name.as_str()));
        Self { language, open: None }
    }

    /// One line without its end.
    pub fn line(&mut self, text: &str) -> Line {
        let Some(language) = self.language else { return Line::of(Style::PLAIN, text) };
        if language.kind == Kind::Diff {
            return Line::of(diff_style(text), text);
        }
        let mut line = Line::new();
        let mut rest = text;
        if language.kind == Kind::Data {
            rest = self.key(text, language, &mut line);
        }
        while !rest.is_empty() {
            rest = self.step(rest, language, &mut line);
        }
        line
    }

    /// Takes one token off the front.
    fn step<'a>(&mut self, rest: &'a str, language: &'static Language, line: &mut Line) -> &'a str {
        if let Some(open) = self.open {
            return self.inside(rest, open, line);
        }
        if language.comments.iter().any(|mark| rest.starts_with(mark)) {
            line.push(COMMENT, rest);
            return "";
        }
        if let Some((begin, close)) = language.block.filter(|(begin, _)| rest.starts_with(begin)) {
            let (mark, after) = rest.split_at_checked(begin.len()).unwrap_or((rest, ""));
            line.push(COMMENT, mark);
            self.open = Some(Open { close, escapes: false, style: COMMENT });
            return after;
        }
        if let Some(quote) = language.quotes.iter().find(|quote| starts(rest, quote)) {
            let (mark, after) = rest.split_at_checked(quote.mark.len()).unwrap_or((rest, ""));
            line.push(TEXT, mark);
            let open = Open { close: quote.mark, escapes: quote.escapes, style: TEXT };
            self.open = Some(open);
            let after = self.inside(after, open, line);
            if quote.reach != Reach::Lines {
                self.open = None;
            }
            return after;
        }
        word(rest, language, line)
    }

    /// Inside a text or a comment: up to what closes it, or to the end of the line.
    fn inside<'a>(&mut self, rest: &'a str, open: Open, line: &mut Line) -> &'a str {
        let mut escaped = false;
        for (at, sign) in rest.char_indices() {
            if escaped {
                escaped = false;
            } else if open.escapes && sign == '\\' {
                escaped = true;
            } else if rest.get(at..).is_some_and(|here| here.starts_with(open.close)) {
                let (within, after) =
                    rest.split_at_checked(at + open.close.len()).unwrap_or((rest, ""));
                line.push(open.style, within);
                self.open = None;
                return after;
            }
        }
        line.push(open.style, rest);
        ""
    }

    /// The key of `key: value` or `key = value`.
    fn key<'a>(&self, text: &'a str, language: &Language, line: &mut Line) -> &'a str {
        let commented = language.comments.iter().any(|mark| text.trim_start().starts_with(mark));
        let Some(at) = text.find([':', '=']).filter(|_| self.open.is_none() && !commented) else {
            return text;
        };
        let (key, rest) = text.split_at_checked(at).unwrap_or(("", text));
        let plain = |sign: char| sign.is_alphanumeric() || " _-.\"'/".contains(sign);
        if key.trim().is_empty() || !key.chars().all(plain) {
            return text;
        }
        line.push(NAME, key);
        rest
    }
}

fn starts(rest: &str, quote: &Quote) -> bool {
    if !rest.starts_with(quote.mark) {
        return false;
    }
    // In Rust a single quote also begins a lifetime: only one that closes soon is a text.
    quote.reach != Reach::Brief || rest.chars().skip(1).take(4).any(|sign| sign == '\'')
}

/// A word, a number, or one other sign.
fn word<'a>(rest: &'a str, language: &Language, line: &mut Line) -> &'a str {
    let belongs =
        |sign: char| sign.is_alphanumeric() || sign == '_' || language.joins.contains(sign);
    let first = rest.chars().next().unwrap_or(' ');
    if !belongs(first) {
        let (sign, after) = rest.split_at_checked(first.len_utf8()).unwrap_or((rest, ""));
        line.push(Style::PLAIN, sign);
        return after;
    }
    let end = rest.find(|sign: char| !belongs(sign)).unwrap_or(rest.len());
    let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
    line.push(style(word, after, language), word);
    after
}

fn style(word: &str, after: &str, language: &Language) -> Style {
    let folded = word.to_lowercase();
    let wanted = if language.folds { folded.as_str() } else { word };
    if word.starts_with(|sign: char| sign.is_ascii_digit()) || language.constants.contains(&wanted)
    {
        CONSTANT
    } else if language.keywords.contains(&wanted) {
        KEYWORD
    } else if after.starts_with('(') && language.kind == Kind::Code {
        NAME
    } else {
        Style::PLAIN
    }
}

fn diff_style(text: &str) -> Style {
    match text.bytes().next() {
        _ if text.starts_with("+++") || text.starts_with("---") => Style::BOLD,
        Some(b'+') => Style::of(Colour::Green),
        Some(b'-') => Style::of(Colour::Red),
        Some(b'@') => Style::of(Colour::Cyan),
        _ => Style::PLAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skin::Skin;

    fn shown(info: &str, text: &str) -> String {
        let mut highlighter = Highlighter::new(info);
        let lines: Vec<String> =
            text.lines().map(|line| highlighter.line(line).ansi(Skin::Terminal)).collect();
        lines.join("\n").replace('\u{1b}', "^")
    }

    #[test]
    fn words_texts_comments_and_numbers_are_told_apart() {
        for (info, text, expected) in [
            ("rust", "let x = 1; // no", "^[35mlet^[0m x = ^[33m1^[0m; ^[2m// no^[0m"),
            ("rust,ignore", "f(\"a\\\"b\")", "^[34mf^[0m(^[32m\"a\\\"b\"^[0m)"),
            (
                "rs",
                "fn a<'a>(x: &'a str, c: 'x')",
                "^[35mfn^[0m a<'a>(x: &'a str, c: ^[32m'x'^[0m)",
            ),
            ("python", "x = '''a\nb''' # c", "x = ^[32m'''a^[0m\n^[32mb'''^[0m ^[2m# c^[0m"),
            ("sql", "SELECT 1", "^[35mSELECT^[0m ^[33m1^[0m"),
            ("yaml", "name: \"x\" # y", "^[34mname^[0m: ^[32m\"x\"^[0m ^[2m# y^[0m"),
            ("diff", "+a\n-b", "^[32m+a^[0m\n^[31m-b^[0m"),
            ("c", "/* a\nb */ int", "^[2m/*^[0m^[2m a^[0m\n^[2mb */^[0m ^[35mint^[0m"),
            ("", "let x", "let x"),
            ("nonsense", "let x", "let x"),
        ] {
            let shown = shown(info, text).replace("^[0m^[2m", "");
            assert_eq!(shown, expected.replace("^[0m^[2m", ""), "{info}: {text}");
        }
    }

    #[test]
    fn every_language_keeps_every_sign() {
        let text = "a'b\"c`d /* e */ // f # g -- h <!-- i --> \\ 0x1f λ 日本 \u{1f600} '";
        for language in LANGUAGES {
            for name in language.names {
                assert_eq!(Highlighter::new(name).line(text).text(), text, "{name}");
            }
        }
    }
}
