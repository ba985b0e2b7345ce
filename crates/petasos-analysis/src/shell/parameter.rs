//! `${…}`: the name, its subscript and the operation on its value.

use super::parse::{Parsed, Parser, is_name};
use super::source::Cut;
use super::tree::{Operation, Parameter, Part, Trouble, Word};

impl Parser<'_> {
    /// The rest of `${ … }`, the cursor after the opening brace.
    pub(super) fn braced_parameter(&mut self) -> Parsed<Part> {
        self.enter()?;
        let length = self.peek() == Some(b'#')
            && self.peek_at(1).is_some_and(|byte| is_name(byte) || matches!(byte, b'@' | b'*'));
        if length {
            self.at += 1;
        }
        let indirect = self.peek() == Some(b'!') && self.peek_at(1).is_some_and(is_name);
        if indirect {
            self.at += 1;
        }
        let name = self.parameter_name()?;
        let mut index = None;
        if self.eat("[") {
            index = Some(self.subscript()?);
            if !self.eat("]") {
                return Err(Trouble::Syntax);
            }
        }
        let operation = self.operation()?;
        if !self.eat("}") {
            return Err(Trouble::Syntax);
        }
        self.leave();
        Ok(Part::Parameter(Box::new(Parameter { name, index, length, indirect, operation })))
    }

    fn parameter_name(&mut self) -> Parsed<Cut> {
        let start = self.at;
        while self.peek().is_some_and(is_name) {
            self.at += 1;
        }
        if self.at == start
            && matches!(self.peek(), Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!'))
        {
            self.at += 1;
        }
        if self.at == start { Err(Trouble::Syntax) } else { Ok(Cut::new(start, self.at)) }
    }

    fn operation(&mut self) -> Parsed<Operation> {
        let colon = self.peek() == Some(b':');
        let sign = if colon { self.peek_at(1) } else { self.peek() };
        let skip = usize::from(colon) + 1;
        Ok(match sign {
            Some(b'-' | b'=') => {
                self.at += skip;
                Operation::Default { assign: sign == Some(b'='), word: self.until(b"}")? }
            }
            Some(b'+') => {
                self.at += skip;
                Operation::Alternate(self.until(b"}")?)
            }
            Some(b'?') => {
                self.at += skip;
                self.until(b"}")?;
                Operation::Error
            }
            _ if colon => {
                self.at += 1;
                let offset = self.until(b":}")?;
                let length = if self.eat(":") { Some(self.until(b"}")?) } else { None };
                Operation::Substring { offset, length }
            }
            Some(b'#') => {
                let longest = self.doubled();
                Operation::TrimPrefix { longest, pattern: self.until(b"}")? }
            }
            Some(b'%') => {
                let longest = self.doubled();
                Operation::TrimSuffix { longest, pattern: self.until(b"}")? }
            }
            Some(b'/') => self.replace()?,
            Some(b'^') => Operation::Upper(self.doubled_then_skip()?),
            Some(b',') => Operation::Lower(self.doubled_then_skip()?),
            Some(b'@') => {
                let letter = self.peek_at(1).unwrap_or_default();
                self.until(b"}")?;
                Operation::Transform(letter)
            }
            _ => Operation::None,
        })
    }

    /// Eats one sign, and its twin if it is doubled.
    fn doubled(&mut self) -> bool {
        let sign = self.peek();
        self.at += 1;
        let twin = self.peek() == sign;
        if twin {
            self.at += 1;
        }
        twin
    }

    fn doubled_then_skip(&mut self) -> Parsed<bool> {
        let twin = self.doubled();
        self.until(b"}")?;
        Ok(twin)
    }

    fn replace(&mut self) -> Parsed<Operation> {
        self.at += 1;
        let mut all = false;
        let mut anchor = 0;
        match self.peek() {
            Some(b'/') => {
                all = true;
                self.at += 1;
            }
            Some(sign @ (b'#' | b'%')) => {
                anchor = sign;
                self.at += 1;
            }
            _ => {}
        }
        let pattern = self.until(b"/}")?;
        let with = if self.eat("/") { self.until(b"}")? } else { Word::default() };
        Ok(Operation::Replace { all, anchor, pattern, with })
    }

    /// The subscript of an array element, up to its bracket.
    pub(super) fn subscript(&mut self) -> Parsed<Word> {
        self.until(b"]")
    }

    /// Text up to one of `ends`, with quoting and substitutions.
    fn until(&mut self, ends: &[u8]) -> Parsed<Word> {
        let mut parts = Vec::new();
        let mut braces = false;
        let start = self.at;
        loop {
            match self.peek() {
                None => return Err(Trouble::Syntax),
                Some(byte) if ends.contains(&byte) => break,
                Some(b'\'' | b'"' | b'\\' | b'$' | b'`') => {
                    self.word_part(&mut parts, &mut braces)?;
                }
                Some(_) => {
                    let start = self.at;
                    while self.peek().is_some_and(|byte| {
                        !ends.contains(&byte) && !matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`')
                    }) {
                        self.at += 1;
                    }
                    parts.push(Part::Literal(Cut::new(start, self.at)));
                }
            }
        }
        let cut = Cut::new(start, self.at);
        Ok(Word { parts: parts.into(), cut, braces })
    }
}
