//! Cuts program text into names, strings, numbers and signs.

use super::Language;
use crate::flow::printf::unescape;
use crate::shell::normalise::UNKNOWN;
use crate::words::lists;

/// A piece of program text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name with its dots, such as `os.path.join` or `.unlink`.
    Name(String),
    Text(String),
    /// A string that the language runs as a command.
    Command(String),
    Number(String),
    Sign(char),
}

impl Token {
    /// The text, where it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Signs around a variable that is named inside a string.
pub(super) const NAME_OPEN: char = '\u{F0000}';
pub(super) const NAME_CLOSE: char = '\u{F0001}';

pub(crate) fn tokens(text: &str, language: Language) -> Vec<Token> {
    let hyphens = language == Language::Other && text.trim_start().starts_with(['(', ';']);
    let letters = text.chars().collect();
    let mut scanner = Scanner { letters, at: 0, language, hyphens, tokens: Vec::new() };
    while scanner.at < scanner.letters.len() {
        scanner.step();
    }
    scanner.tokens
}

struct Scanner {
    letters: Vec<char>,
    at: usize,
    language: Language,
    /// Names are joined by hyphens, as in Lisp.
    hyphens: bool,
    tokens: Vec<Token>,
}

impl Scanner {
    fn peek(&self, ahead: usize) -> char {
        self.letters.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn step(&mut self) {
        let letter = self.peek(0);
        match letter {
            '#' if self.hash_comments() => self.skip_line(),
            // `#p"x"`: a path of Lisp.
            '#' if self.hyphens && self.peek(1) == 'p' => self.at += 2,
            '/' if self.peek(1) == '/' && self.slash_comments() => self.skip_line(),
            '-' if self.peek(1) == '-' && self.language == Language::Other => self.skip_line(),
            '/' if self.peek(1) == '*' && self.slash_comments() => self.skip_block(),
            // Texts are put together by two dots.
            '.' if self.language == Language::Other
                && self.peek(1) == '.'
                && self.peek(2) != '.' =>
            {
                self.tokens.push(Token::Sign('+'));
                self.at += 2;
            }
            '\'' | '"' => self.string(letter, ""),
            '`' => self.backquote(),
            '%' if self.language == Language::Ruby
                && matches!(self.peek(1), 'x' | 'q' | 'Q' | 'w')
                && !self.peek(2).is_alphanumeric()
                && self.peek(2) != ' ' =>
            {
                let kind = self.peek(1);
                self.at += 2;
                self.delimited(kind);
            }
            _ if letter.is_whitespace() => {
                if letter == '\n' {
                    self.tokens.push(Token::Sign('\n'));
                }
                self.at += 1;
            }
            _ if letter.is_ascii_digit() => self.number(),
            _ if is_name(letter) || self.dot_starts_name() => self.name(),
            _ => {
                self.tokens.push(Token::Sign(letter));
                self.at += 1;
            }
        }
    }

    /// `.x` behind a call; `1..5` and the concatenation of PHP are something else.
    fn dot_starts_name(&self) -> bool {
        self.peek(0) == '.'
            && is_name(self.peek(1))
            && !self.peek(1).is_ascii_digit()
            && self.language != Language::Php
    }

    fn hash_comments(&self) -> bool {
        let last = self.at.checked_sub(1).and_then(|at| self.letters.get(at));
        let variable = self.language == Language::Perl && last == Some(&'$');
        !variable
            && !self.hyphens
            && !matches!(
                self.language,
                Language::JavaScript | Language::AppleScript | Language::Tcl
            )
    }

    fn slash_comments(&self) -> bool {
        matches!(self.language, Language::JavaScript | Language::Php)
    }

    fn skip_line(&mut self) {
        while self.at < self.letters.len() && self.peek(0) != '\n' {
            self.at += 1;
        }
    }

    fn skip_block(&mut self) {
        self.at += 2;
        while self.at < self.letters.len() && !(self.peek(0) == '*' && self.peek(1) == '/') {
            self.at += 1;
        }
        self.at += 2;
    }

    fn string(&mut self, quote: char, prefix: &str) {
        let triple =
            self.language == Language::Python && self.peek(1) == quote && self.peek(2) == quote;
        self.at += if triple { 3 } else { 1 };
        let mut text = String::new();
        while self.at < self.letters.len() {
            let letter = self.peek(0);
            if letter == '\\' {
                text.push('\\');
                text.push(self.peek(1));
                self.at += 2;
                continue;
            }
            let closes = if triple {
                letter == quote && self.peek(1) == quote && self.peek(2) == quote
            } else {
                letter == quote
            };
            if closes {
                self.at += if triple { 3 } else { 1 };
                break;
            }
            text.push(letter);
            self.at += 1;
        }
        let raw = prefix.contains(['r', 'R'])
            || quote == '\''
                && matches!(self.language, Language::Perl | Language::Ruby | Language::Php);
        let mut text = if raw { text.replace("\\'", "'") } else { unescape(&text, true) };
        if prefix.contains(['f', 'F']) || quote == '"' && self.language == Language::Ruby {
            text = blank_braces(&text, if self.language == Language::Ruby { "#{" } else { "{" });
        }
        self.tokens.push(Token::Text(text));
    }

    fn backquote(&mut self) {
        self.at += 1;
        let mut text = String::new();
        while self.at < self.letters.len() && self.peek(0) != '`' {
            if self.peek(0) == '\\' {
                self.at += 1;
            }
            text.push(self.peek(0));
            self.at += 1;
        }
        self.at += 1;
        self.tokens.push(match self.language {
            Language::Perl | Language::Ruby | Language::Php => {
                Token::Command(blank_braces(&text, "#{"))
            }
            Language::JavaScript
                if matches!(self.tokens.last(), Some(Token::Name(name)) if name.ends_with('$')) =>
            {
                Token::Command(blank_braces(&text, "${"))
            }
            Language::JavaScript => Token::Text(blank_braces(&text, "${")),
            _ => Token::Text(text),
        });
    }

    /// `%x(…)`, `qx{…}`, `q(…)`: the cursor on the opening sign.
    fn delimited(&mut self, kind: char) {
        let open = self.peek(0);
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other => other,
        };
        self.at += 1;
        let mut nested = 1;
        let mut text = String::new();
        while self.at < self.letters.len() {
            let letter = self.peek(0);
            self.at += 1;
            if letter == close {
                nested -= 1;
                if nested == 0 {
                    break;
                }
            } else if letter == open {
                nested += 1;
            }
            text.push(letter);
        }
        match kind {
            'x' => self.tokens.push(Token::Command(text)),
            'w' => {
                self.tokens.push(Token::Sign('['));
                for word in text.split_whitespace() {
                    self.tokens.extend([Token::Text(word.to_owned()), Token::Sign(',')]);
                }
                self.tokens.push(Token::Sign(']'));
            }
            _ => self.tokens.push(Token::Text(text)),
        }
    }

    fn number(&mut self) {
        let start = self.at;
        while is_name(self.peek(0)) {
            self.at += 1;
        }
        self.tokens.push(Token::Number(self.slice(start)));
    }

    fn slice(&self, start: usize) -> String {
        self.letters.get(start..self.at).unwrap_or_default().iter().collect()
    }

    fn name(&mut self) {
        let start = self.at;
        loop {
            let letter = self.peek(0);
            let next = self.peek(1);
            let dot = letter == '.'
                && is_name(next)
                && !next.is_ascii_digit()
                && self.language != Language::Php;
            let joint = matches!((letter, next), (':', ':') | ('-', '>') | ('?', '.'));
            // `system$_`: a variable of Perl begins a name of its own.
            if self.language == Language::Perl && self.at > start && matches!(letter, '$' | '@') {
                break;
            }
            let hyphen = self.hyphens && matches!(letter, '-' | '/') && is_name(next);
            if is_name(letter) || dot || hyphen {
                self.at += 1;
            } else if joint && is_name(self.peek(2)) {
                self.at += 2;
            } else {
                break;
            }
        }
        let name = self.slice(start);
        let quote = self.peek(0);
        if matches!(quote, '"' | '\'')
            && name.len() <= 2
            && name.chars().all(|letter| "rRbBfFuU".contains(letter))
            && self.language == Language::Python
        {
            self.string(quote, &name);
            return;
        }
        if self.language == Language::Perl
            && lists("q qq qx qw qqx", &name)
            && !quote.is_whitespace()
            && !is_name(quote)
            && !matches!(quote, ',' | ';' | ')' | '=')
        {
            self.delimited(name.chars().next_back().unwrap_or_default());
            return;
        }
        self.tokens.push(Token::Name(name));
    }
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$' || letter == '@'
}

/// Replaces interpolated expressions by an unknown stretch.
fn blank_braces(text: &str, open: &str) -> String {
    let mut output = String::new();
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once(open) {
        output.push_str(head);
        match tail.split_once('}') {
            Some((inner, after)) => {
                let home = lists(
                    "os.environ['HOME'] process.env.HOME ENV['HOME'] os.homedir() HOME Dir.home Path.home() \
                        require('os').homedir() os.path.expanduser('~')",
                    &inner.trim().replace('"', "'"),
                );
                let name = inner.trim();
                let variable = !name.is_empty()
                    && name.len() < 64
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let literal = ['"', '\''].iter().find_map(|quote| {
                    name.strip_prefix(*quote).and_then(|text| text.strip_suffix(*quote))
                });
                if home {
                    output.push('~');
                } else if let Some(text) = literal {
                    output.push_str(text);
                } else if matches!(name, "os.sep" | "os.path.sep" | "path.sep") {
                    output.push('/');
                } else if variable {
                    output.push(NAME_OPEN);
                    output.push_str(name);
                    output.push(NAME_CLOSE);
                } else {
                    output.push(UNKNOWN);
                }
                rest = after;
            }
            None => {
                rest = "";
            }
        }
    }
    output.push_str(rest);
    output
}
