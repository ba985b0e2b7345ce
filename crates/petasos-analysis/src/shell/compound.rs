//! Compound commands: groups, subshells, conditions, loops, `case`, functions.

use super::parse::{Parsed, Parser, ends_word};
use super::source::Cut;
use super::tree::{Compound, Kind, Link, Node, Redirect, Step, Trouble, Word};
use std::rc::Rc;

impl Parser<'_> {
    /// A compound command at the cursor, or `None` when a simple command stands there.
    pub(super) fn compound(&mut self) -> Parsed<Option<Node>> {
        let kind = match self.peek() {
            Some(b'(') => self.parenthesis()?,
            Some(b'{') if self.at_keyword("{") => {
                self.at += 1;
                Kind::Group(self.braced()?)
            }
            Some(b'i') if self.eat_keyword("if") => self.condition()?,
            Some(b'w') if self.eat_keyword("while") => self.repeat()?,
            Some(b'u') if self.eat_keyword("until") => self.repeat()?,
            Some(b'f') if self.eat_keyword("for") => self.each()?,
            Some(b's') if self.eat_keyword("select") => self.each()?,
            Some(b'c') if self.eat_keyword("case") => self.case()?,
            Some(b'f') if self.eat_keyword("function") => self.function_keyword()?,
            Some(b'[') if self.eat_keyword("[[") => self.test()?,
            Some(b'c') if self.eat_keyword("coproc") => {
                self.skip_blank();
                return self.coprocess().map(Some);
            }
            _ => return Ok(None),
        };
        let redirects = self.redirects()?;
        Ok(Some(Node::Compound(Box::new(Compound { kind, redirects }))))
    }

    /// One command for a function body or a coprocess.
    pub(super) fn list_once(&mut self, steps: &mut Vec<Step>) -> Parsed<()> {
        let node: Node = match self.compound()? {
            Some(node) => node,
            None => return Err(Trouble::Syntax),
        };
        steps.push(Step { node, link: Link::Then, background: false });
        Ok(())
    }

    fn redirects(&mut self) -> Parsed<Vec<Redirect>> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blank();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    /// `coproc` may name its compound; the body runs either way.
    fn coprocess(&mut self) -> Parsed<Node> {
        self.enter()?;
        let mut name = None;
        let node = match self.compound()? {
            Some(node) => node,
            None => {
                let start = self.at;
                self.word()?;
                let word = Cut::new(start, self.at);
                self.skip_blank();
                let named = matches!(self.peek(), Some(b'{' | b'('));
                match if named { self.compound()? } else { None } {
                    Some(node) => {
                        name = Some(word);
                        node
                    }
                    None => {
                        self.at = start;
                        self.command()?
                    }
                }
            }
        };
        self.leave();
        let steps = Rc::new(vec![Step { node, link: Link::Then, background: true }]);
        let kind = Kind::Coprocess { name, steps };
        Ok(Node::Compound(Box::new(Compound { kind, redirects: Vec::new() })))
    }

    fn parenthesis(&mut self) -> Parsed<Kind> {
        if self.peek_at(1) == Some(b'(')
            && let Some(end) = self.arithmetic_end(self.at + 2)
        {
            self.at += 2;
            let parts = self.arithmetic_parts(end)?;
            return Ok(Kind::Arithmetic(parts));
        }
        self.at += 1;
        let steps = self.steps()?;
        if self.eat(")") { Ok(Kind::Subshell(steps)) } else { Err(Trouble::Syntax) }
    }

    fn braced(&mut self) -> Parsed<super::tree::Steps> {
        let steps = self.steps()?;
        if self.eat_keyword("}") { Ok(steps) } else { Err(Trouble::Syntax) }
    }

    fn expect_keyword(&mut self, keyword: &str) -> Parsed<()> {
        self.skip_lines();
        if self.eat_keyword(keyword) { Ok(()) } else { Err(Trouble::Syntax) }
    }

    fn condition(&mut self) -> Parsed<Kind> {
        let mut parts = vec![self.steps()?];
        loop {
            self.expect_keyword("then")?;
            parts.push(self.steps()?);
            self.skip_lines();
            if self.eat_keyword("elif") {
                parts.push(self.steps()?);
                continue;
            }
            if self.eat_keyword("else") {
                parts.push(self.steps()?);
            }
            self.expect_keyword("fi")?;
            return Ok(Kind::If(parts));
        }
    }

    fn repeat(&mut self) -> Parsed<Kind> {
        let condition = self.steps()?;
        let body = self.loop_body()?;
        Ok(Kind::While { condition, body })
    }

    fn loop_body(&mut self) -> Parsed<super::tree::Steps> {
        self.skip_lines();
        if self.eat_keyword("{") {
            return self.braced();
        }
        self.expect_keyword("do")?;
        let body = self.steps()?;
        self.expect_keyword("done")?;
        Ok(body)
    }

    fn each(&mut self) -> Parsed<Kind> {
        self.skip_blank();
        if self.starts("((")
            && let Some(end) = self.arithmetic_end(self.at + 2)
        {
            self.at += 2;
            let parts = self.arithmetic_parts(end)?;
            self.skip_blank();
            self.eat(";");
            let body = self.loop_body()?;
            return Ok(Kind::ForArithmetic { parts, body });
        }
        let name = self.word()?.cut;
        self.skip_lines();
        let mut words = None;
        if self.eat_keyword("in") {
            let mut list = Vec::new();
            loop {
                self.skip_blank();
                if self.peek().is_some_and(|byte| !ends_word(byte))
                    || self.starts("<(")
                    || self.starts(">(")
                {
                    list.push(self.word()?);
                } else {
                    break;
                }
            }
            words = Some(list);
        }
        self.skip_blank();
        self.eat(";");
        let body = self.loop_body()?;
        Ok(Kind::For { name, words, body })
    }

    fn case(&mut self) -> Parsed<Kind> {
        self.skip_blank();
        let subject = self.word()?;
        self.expect_keyword("in")?;
        let mut arms = Vec::new();
        let mut patterns = Vec::new();
        loop {
            self.skip_lines();
            if self.eat_keyword("esac") {
                return Ok(Kind::Case { subject, patterns, arms });
            }
            self.eat("(");
            loop {
                self.skip_blank();
                patterns.push(self.word()?);
                self.skip_blank();
                if !self.eat("|") {
                    break;
                }
            }
            if !self.eat(")") {
                return Err(Trouble::Syntax);
            }
            arms.push(self.steps()?);
            self.skip_lines();
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) {
                self.expect_keyword("esac")?;
                return Ok(Kind::Case { subject, patterns, arms });
            }
        }
    }

    fn function_keyword(&mut self) -> Parsed<Kind> {
        self.skip_blank();
        let name = self.word()?.cut;
        self.skip_blank();
        if self.eat("(") {
            self.skip_blank();
            if !self.eat(")") {
                return Err(Trouble::Syntax);
            }
        }
        self.function_body(name)
    }

    /// The rest of `name ( ) body`, the cursor before the parenthesis.
    pub(super) fn function_after(&mut self, words: &[Word]) -> Parsed<Node> {
        let name = words.first().map(|word| word.cut).unwrap_or_default();
        self.skip_blank();
        self.at += 1;
        self.skip_blank();
        if !self.eat(")") {
            return Err(Trouble::Syntax);
        }
        let kind = self.function_body(name)?;
        Ok(Node::Compound(Box::new(Compound { kind, redirects: Vec::new() })))
    }

    fn function_body(&mut self, name: Cut) -> Parsed<Kind> {
        self.skip_lines();
        self.enter()?;
        let mut steps = Vec::new();
        self.list_once(&mut steps)?;
        self.leave();
        Ok(Kind::Function { name, body: Rc::new(steps) })
    }

    fn test(&mut self) -> Parsed<Kind> {
        let mut words = Vec::new();
        loop {
            self.skip_lines();
            if self.eat_keyword("]]") {
                return Ok(Kind::Test(words));
            }
            match self.peek() {
                None => return Err(Trouble::Syntax),
                Some(b'&' | b'|' | b'(' | b')' | b'<' | b'>') => self.at += 1,
                Some(b';') => return Err(Trouble::Syntax),
                Some(_) => {
                    words.push(self.word()?);
                    // The right side of `=~` may hold bare parentheses and bars.
                    if words.last().is_some_and(|word| {
                        self.text.get(word.cut.start as usize..word.cut.end as usize) == Some("=~")
                    }) {
                        self.skip_blank();
                        self.regex_operand(&mut words)?;
                    }
                }
            }
        }
    }

    fn regex_operand(&mut self, words: &mut Vec<Word>) -> Parsed<()> {
        let mut nested = 0u32;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' if nested == 0 => break,
                b'(' => nested += 1,
                b')' if nested == 0 => break,
                b')' => nested -= 1,
                b'|' | b'<' | b'>' | b'&' | b';' | b' ' | b'\t' | b'\n' | b'\r' => {}
                _ => {
                    words.push(self.word()?);
                    continue;
                }
            }
            self.at += 1;
        }
        Ok(())
    }
}
