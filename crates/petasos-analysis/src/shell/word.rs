//! Words: quoting, substitutions, and the text parts between them.

use super::parse::{Parsed, Parser, ends_word, is_name};
use super::source::Cut;
use super::tree::{Operation, Parameter, Part, Steps, Trouble, Word};
use smallvec::{SmallVec, smallvec};

impl Parser<'_> {
    /// A word at the cursor; at least one byte is read.
    pub(super) fn word(&mut self) -> Parsed<Word> {
        let start = self.at;
        if let Some(word) = self.plain_word() {
            return Ok(word);
        }
        let mut parts = Vec::new();
        let mut braces = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.peek_at(1) == Some(b'(') => {
                    let steps = self.process()?;
                    parts.push(if byte == b'<' {
                        Part::ProcessIn(steps)
                    } else {
                        Part::ProcessOut(steps)
                    });
                }
                b'(' if self.after_pattern_sign(start) => {
                    self.extended_pattern(&mut parts, &mut braces)?;
                }
                byte if ends_word(byte) => break,
                _ => self.word_part(&mut parts, &mut braces)?,
            }
        }
        if self.at == start {
            return Err(Trouble::Syntax);
        }
        let cut = Cut::new(start, self.at);
        Ok(Word { parts: SmallVec::from_vec(parts), cut, braces })
    }

    /// A word without any sign that means something: most words are.
    fn plain_word(&mut self) -> Option<Word> {
        let rest = self.bytes.get(self.at..)?;
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./:,=+@%".contains(byte);
        let length = rest.iter().position(|byte| !plain(byte)).unwrap_or(rest.len());
        let ends = rest.get(length).is_none_or(|byte| ends_word(*byte));
        let opens = rest.get(length) == Some(&b'(') || rest.get(length + 1) == Some(&b'(');
        if length == 0 || !ends || opens {
            return None;
        }
        let cut = Cut::new(self.at, self.at + length);
        self.at += length;
        Some(Word { parts: smallvec![Part::Literal(cut)], cut, braces: false })
    }

    fn after_pattern_sign(&self, start: usize) -> bool {
        self.at > start
            && matches!(self.bytes.get(self.at - 1), Some(b'@' | b'?' | b'*' | b'+' | b'!'))
    }

    /// `@(a|b)` and its kin stay text; substitutions inside still run.
    fn extended_pattern(&mut self, parts: &mut Vec<Part>, braces: &mut bool) -> Parsed<()> {
        let mut nested = 0u32;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => nested += 1,
                b')' => nested -= 1,
                b'\n' => return Err(Trouble::Syntax),
                b'|' | b' ' | b'\t' | b'<' | b'>' | b'&' | b';' | b'\r' => {}
                _ => {
                    self.word_part(parts, braces)?;
                    continue;
                }
            }
            parts.push(Part::Literal(Cut::new(self.at, self.at + 1)));
            self.at += 1;
            if nested == 0 {
                return Ok(());
            }
        }
        Err(Trouble::Syntax)
    }

    /// One part of an unquoted word.
    pub(super) fn word_part(&mut self, parts: &mut Vec<Part>, braces: &mut bool) -> Parsed<()> {
        match self.peek() {
            Some(b'\'') => {
                let start = self.at + 1;
                let end = self.find(start, b'\'').ok_or(Trouble::Syntax)?;
                parts.push(Part::Quoted(Cut::new(start, end)));
                self.at = end + 1;
            }
            Some(b'"') => {
                self.at += 1;
                parts.push(self.double()?);
            }
            Some(b'\\') => self.backslash(parts),
            Some(b'$') => self.dollar(parts, false)?,
            Some(b'`') => self.backquote(parts)?,
            _ => {
                let start = self.at;
                while let Some(byte) = self.peek() {
                    if ends_word(byte) || matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`') {
                        break;
                    }
                    *braces |= byte == b'{';
                    self.at += 1;
                }
                if self.at == start {
                    self.at += 1;
                }
                parts.push(Part::Literal(Cut::new(start, self.at)));
            }
        }
        Ok(())
    }

    fn find(&self, start: usize, wanted: u8) -> Option<usize> {
        let rest = self.bytes.get(start..)?;
        rest.iter().position(|byte| *byte == wanted).map(|offset| start + offset)
    }

    fn backslash(&mut self, parts: &mut Vec<Part>) {
        self.at += 1;
        match self.peek() {
            Some(b'\n') => self.at += 1,
            Some(b'\r') if self.peek_at(1) == Some(b'\n') => self.at += 2,
            Some(_) => {
                let width = self.letter_width();
                parts.push(Part::Quoted(Cut::new(self.at, self.at + width)));
                self.at += width;
            }
            None => {}
        }
    }

    pub(super) fn letter_width(&self) -> usize {
        self.text.get(self.at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    }

    /// The rest of a double-quoted string, the cursor after the opening quote.
    fn double(&mut self) -> Parsed<Part> {
        self.enter()?;
        let mut parts = Vec::new();
        loop {
            match self.peek() {
                None => return Err(Trouble::Syntax),
                Some(b'"') => break,
                Some(_) => self.double_part(&mut parts, self.bytes.len())?,
            }
        }
        self.at += 1;
        self.leave();
        Ok(Part::Double(parts))
    }

    /// One part of text in which only `$`, backquote and backslash are special.
    fn double_part(&mut self, parts: &mut Vec<Part>, end: usize) -> Parsed<()> {
        match self.peek() {
            Some(b'\\') => match self.peek_at(1) {
                Some(b'\n') => self.at += 2,
                Some(b'$' | b'`' | b'"' | b'\\') => {
                    parts.push(Part::Quoted(Cut::new(self.at + 1, self.at + 2)));
                    self.at += 2;
                }
                _ => {
                    parts.push(Part::Quoted(Cut::new(self.at, self.at + 1)));
                    self.at += 1;
                }
            },
            Some(b'$') => self.dollar(parts, true)?,
            Some(b'`') => self.backquote(parts)?,
            _ => {
                let start = self.at;
                while self.at < end
                    && self.peek().is_some_and(|byte| !matches!(byte, b'"' | b'\\' | b'$' | b'`'))
                {
                    self.at += 1;
                }
                if self.at == start {
                    self.at += 1;
                }
                parts.push(Part::Quoted(Cut::new(start, self.at)));
            }
        }
        Ok(())
    }

    /// The body of a here-document as parts. Trouble in it leaves the rest as text.
    pub(super) fn document_parts(&mut self, cut: Cut, quoted: bool) -> Vec<Part> {
        let (start, end) = (cut.start as usize, cut.end as usize);
        if quoted {
            return vec![Part::Quoted(cut)];
        }
        let body = self.bytes.get(start..end).unwrap_or_default();
        if !body.iter().any(|byte| matches!(byte, b'$' | b'`' | b'\\')) {
            return vec![Part::Quoted(cut)];
        }
        let resume = self.at;
        let mut parts = Vec::new();
        self.at = start;
        while self.at < end {
            let before = self.at;
            if self.peek() == Some(b'"') {
                parts.push(Part::Quoted(Cut::new(before, before + 1)));
                self.at += 1;
            } else if self.double_part(&mut parts, end).is_err() {
                parts.push(Part::Quoted(Cut::new(before, end)));
                break;
            }
        }
        self.at = resume;
        parts
    }

    /// The delimiter of a here-document and whether any of it was quoted.
    pub(super) fn delimiter(&self, word: &Word) -> (String, bool) {
        let mut text = String::new();
        let mut quoted = false;
        for part in &word.parts {
            match part {
                Part::Literal(cut) => text.push_str(self.slice(*cut)),
                Part::Quoted(cut) | Part::Escaped(cut) => {
                    quoted = true;
                    text.push_str(self.slice(*cut));
                }
                Part::Double(inner) => {
                    quoted = true;
                    for part in inner {
                        if let Part::Quoted(cut) | Part::Literal(cut) = part {
                            text.push_str(self.slice(*cut));
                        }
                    }
                }
                _ => text.push_str(self.slice(word.cut)),
            }
        }
        (text, quoted)
    }

    pub(super) fn slice(&self, cut: Cut) -> &str {
        self.text.get(cut.start as usize..cut.end as usize).unwrap_or_default()
    }

    /// `$` and what follows.
    fn dollar(&mut self, parts: &mut Vec<Part>, in_double: bool) -> Parsed<()> {
        let start = self.at;
        match self.peek_at(1) {
            Some(b'(') if self.peek_at(2) == Some(b'(') => {
                if let Some(end) = self.arithmetic_end(start + 3) {
                    self.at = start + 3;
                    parts.push(Part::Arithmetic(self.arithmetic_parts(end)?));
                } else {
                    parts.push(Part::Command(self.process()?));
                }
            }
            Some(b'(') => parts.push(Part::Command(self.process()?)),
            Some(b'[') => match self.find(start, b']') {
                Some(end) => {
                    parts.push(Part::Quoted(Cut::new(start, end + 1)));
                    self.at = end + 1;
                }
                None => return Err(Trouble::Syntax),
            },
            Some(b'{') => {
                self.at += 2;
                parts.push(self.braced_parameter()?);
            }
            Some(b'\'') if !in_double => {
                let end = self.escaped_end(start + 2).ok_or(Trouble::Syntax)?;
                parts.push(Part::Escaped(Cut::new(start + 2, end)));
                self.at = end + 1;
            }
            Some(b'"') if !in_double => {
                self.at += 2;
                parts.push(self.double()?);
            }
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => {
                let mut end = start + 1;
                while self.bytes.get(end).is_some_and(|byte| is_name(*byte)) {
                    end += 1;
                }
                parts.push(named(Cut::new(start + 1, end)));
                self.at = end;
            }
            Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => {
                parts.push(named(Cut::new(start + 1, start + 2)));
                self.at += 2;
            }
            _ => {
                parts.push(Part::Quoted(Cut::new(start, start + 1)));
                self.at += 1;
            }
        }
        Ok(())
    }

    fn escaped_end(&self, start: usize) -> Option<usize> {
        let mut at = start;
        loop {
            match self.bytes.get(at)? {
                b'\'' => return Some(at),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
    }

    /// `$( … )`, `<( … )` or `>( … )`, the cursor on the sign before the parenthesis.
    fn process(&mut self) -> Parsed<Steps> {
        self.enter()?;
        self.at += 2;
        let steps = self.steps()?;
        if !self.eat(")") {
            return Err(Trouble::Syntax);
        }
        self.leave();
        Ok(steps)
    }

    fn backquote(&mut self, parts: &mut Vec<Part>) -> Parsed<()> {
        let start = self.at + 1;
        let mut text = String::new();
        self.at = start;
        loop {
            match self.peek() {
                None => return Err(Trouble::Syntax),
                Some(b'`') => break,
                Some(b'\\') if matches!(self.peek_at(1), Some(b'`' | b'\\' | b'$')) => {
                    self.at += 1;
                    text.push_str(self.slice(Cut::new(self.at, self.at + 1)));
                    self.at += 1;
                }
                Some(_) => {
                    let width = self.letter_width();
                    text.push_str(self.slice(Cut::new(self.at, self.at + width)));
                    self.at += width;
                }
            }
        }
        parts.push(Part::Backquote(text.into(), Cut::new(start, self.at)));
        self.at += 1;
        Ok(())
    }

    /// Where `))` closes an arithmetic expression that starts at `start`, if it does.
    pub(super) fn arithmetic_end(&self, start: usize) -> Option<usize> {
        let mut nested = 0u32;
        let mut at = start;
        loop {
            match self.bytes.get(at)? {
                b'(' => nested += 1,
                b')' if nested > 0 => nested -= 1,
                b')' => return (self.bytes.get(at + 1) == Some(&b')')).then_some(at),
                b'\\' => at += 1,
                b'\'' | b'\n' if nested == 0 && self.bytes.get(at) == Some(&b'\'') => return None,
                _ => {}
            }
            at += 1;
        }
    }

    /// Parts up to `end`, the cursor then after the closing parentheses.
    pub(super) fn arithmetic_parts(&mut self, end: usize) -> Parsed<Vec<Part>> {
        self.enter()?;
        let mut parts = Vec::new();
        while self.at < end {
            if self.peek() == Some(b'"') {
                self.at += 1;
                continue;
            }
            self.double_part(&mut parts, end)?;
        }
        self.at = self.at.max(end) + 2;
        self.leave();
        Ok(parts)
    }
}

fn named(name: Cut) -> Part {
    Part::Parameter(Box::new(Parameter {
        name,
        index: None,
        length: false,
        indirect: false,
        operation: Operation::None,
    }))
}
