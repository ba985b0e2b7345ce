//! Recursive descent over shell text: lists, pipelines, simple commands and
//! redirections. One pass, a depth limit, no backtracking beyond one token.

use super::source::{Cut, Source};
use super::tree::{
    Assign, AssignValue, Document, Link, Node, Script, Simple, Step, Steps, Trouble, Word,
};
use std::rc::Rc;

/// Constructs nested deeper than this are refused: no person writes them.
const DEPTH_MAX: u32 = 100;
/// Commands of the outermost list that are read before they are looked at.
const PORTION: usize = 64;
/// How often parsing resumes after a syntax error before it gives up.
const RESUMES_MAX: u32 = 16;

pub(crate) type Parsed<T> = Result<T, Trouble>;

pub(crate) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    depth: u32,
    /// The list ended because the portion is large enough.
    full: bool,
    pub(super) documents: Vec<Document>,
    /// Here-documents announced on this line, not read yet: index, delimiter, flags.
    pub(super) waiting: Vec<Waiting>,
}

pub(super) struct Waiting {
    pub(super) document: usize,
    pub(super) delimiter: String,
    pub(super) quoted: bool,
    pub(super) strip_tabs: bool,
}

/// Reads text a portion at a time, so that a long text needs no more memory than a
/// short one. After a syntax error the rest is read as well as possible.
pub(crate) struct Reader {
    source: Rc<Source>,
    at: usize,
    resumes: u32,
    /// What went wrong in the portions read so far.
    pub(crate) trouble: Option<Trouble>,
}

impl Reader {
    pub(crate) fn new(source: Source) -> Self {
        Self { source: Rc::new(source), at: 0, resumes: 0, trouble: None }
    }

    /// All that is read.
    pub(crate) fn text(&self) -> String {
        self.source.text.as_ref().to_owned()
    }

    /// The next commands, `None` at the end.
    pub(crate) fn portion(&mut self) -> Option<Script> {
        let text = self.source.text.as_ref();
        if self.at >= text.len() || self.resumes > RESUMES_MAX {
            return None;
        }
        let mut steps = Vec::new();
        let mut parser = Parser {
            text,
            bytes: text.as_bytes(),
            at: self.at,
            depth: 0,
            full: false,
            documents: Vec::new(),
            waiting: Vec::new(),
        };
        while self.resumes <= RESUMES_MAX {
            match parser.list(&mut steps) {
                Ok(()) if parser.full || parser.at >= parser.bytes.len() => break,
                Ok(()) => {
                    self.trouble.get_or_insert(Trouble::Syntax);
                    parser.at += 1;
                }
                Err(Trouble::Depth) => {
                    self.trouble = Some(Trouble::Depth);
                    parser.at = parser.bytes.len();
                    break;
                }
                Err(Trouble::Syntax) => {
                    self.trouble.get_or_insert(Trouble::Syntax);
                    parser.depth = 0;
                    parser.skip_to_separator();
                }
            }
            self.resumes += 1;
        }
        parser.read_documents();
        self.at = parser.at;
        let documents = std::mem::take(&mut parser.documents);
        Some(Script { source: Rc::clone(&self.source), steps, documents })
    }
}

impl Parser<'_> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    pub(super) fn starts(&self, text: &str) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.starts(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(Trouble::Depth) } else { Ok(()) }
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    fn skip_to_separator(&mut self) {
        while let Some(byte) = self.peek() {
            self.at += 1;
            if byte == b'\n' || byte == b';' {
                break;
            }
        }
    }

    /// Blanks, continued lines and comments; not newlines.
    pub(super) fn skip_blank(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\r') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'\\') if self.starts("\\\r\n") => self.at += 3,
                Some(b'#') if self.at == 0 || self.at_word_start() => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
    }

    fn at_word_start(&self) -> bool {
        self.at.checked_sub(1).and_then(|before| self.bytes.get(before)).is_none_or(|byte| {
            matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')')
        })
    }

    /// Blanks and newlines; reads here-documents that start at a newline.
    pub(super) fn skip_lines(&mut self) {
        loop {
            self.skip_blank();
            if self.peek() != Some(b'\n') {
                return;
            }
            self.newline();
        }
    }

    fn newline(&mut self) {
        self.at += 1;
        self.read_documents();
    }

    fn read_documents(&mut self) {
        for waiting in std::mem::take(&mut self.waiting) {
            let start = self.at;
            let mut end = self.bytes.len();
            let mut cursor = self.at;
            self.at = self.bytes.len();
            while cursor < self.bytes.len() {
                let rest = self.bytes.get(cursor..).unwrap_or_default();
                let length = memchr(b'\n', rest);
                let line = rest.get(..length).unwrap_or_default();
                let mut line = line.strip_suffix(b"\r").unwrap_or(line);
                while waiting.strip_tabs && line.first() == Some(&b'\t') {
                    line = line.get(1..).unwrap_or_default();
                }
                if line == waiting.delimiter.as_bytes() {
                    end = cursor;
                    self.at = (cursor + length + 1).min(self.bytes.len());
                    break;
                }
                cursor += length + 1;
            }
            let parts = self.document_parts(Cut::new(start, end), waiting.quoted);
            if let Some(document) = self.documents.get_mut(waiting.document) {
                document.parts = parts;
            }
        }
    }

    /// A list up to a token that cannot start a command.
    pub(super) fn list(&mut self, steps: &mut Vec<Step>) -> Parsed<()> {
        let mut link = Link::Then;
        loop {
            self.skip_lines();
            while link == Link::Then && self.starts(";") && !self.starts(";;") && !self.starts(";&")
            {
                // A stray separator is an error in a shell; reading on sees more.
                self.at += 1;
                self.skip_lines();
            }
            if self.at_list_end() {
                return if link == Link::Then { Ok(()) } else { Err(Trouble::Syntax) };
            }
            let node = self.pipeline()?;
            self.skip_blank();
            let mut background = false;
            let (here, next) = (link, self.separator(&mut background));
            steps.push(Step { node, link: here, background });
            match next {
                Some(next) => link = next,
                None => return Ok(()),
            }
            self.full = self.depth == 0
                && link == Link::Then
                && steps.len() >= PORTION
                && self.waiting.is_empty();
            if self.full {
                return Ok(());
            }
        }
    }

    /// The separator after a command, or `None` when the list ends here.
    fn separator(&mut self, background: &mut bool) -> Option<Link> {
        match (self.peek()?, self.peek_at(1)) {
            (b'&', Some(b'&')) => {
                self.at += 2;
                Some(Link::And)
            }
            (b'|', Some(b'|')) => {
                self.at += 2;
                Some(Link::Or)
            }
            (b'&', _) => {
                self.at += 1;
                *background = true;
                Some(Link::Then)
            }
            (b';', Some(b';' | b'&')) => None,
            (b';', _) => {
                self.at += 1;
                Some(Link::Then)
            }
            (b'\n', _) => Some(Link::Then),
            _ => None,
        }
    }

    fn at_list_end(&self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => self.starts(";;") || self.starts(";&"),
            Some(b'}') => self.at_keyword("}"),
            Some(b't') => self.at_keyword("then"),
            Some(b'e') => {
                self.at_keyword("else") || self.at_keyword("elif") || self.at_keyword("esac")
            }
            Some(b'f') => self.at_keyword("fi"),
            Some(b'd') => self.at_keyword("do") || self.at_keyword("done"),
            _ => false,
        }
    }

    pub(super) fn at_keyword(&self, keyword: &str) -> bool {
        self.starts(keyword)
            && self.peek_at(keyword.len()).is_none_or(|byte| ends_word(byte) || byte == b'`')
    }

    pub(super) fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.at += keyword.len();
        }
        found
    }

    fn pipeline(&mut self) -> Parsed<Node> {
        loop {
            self.skip_blank();
            if self.at_keyword("!") {
                self.at += 1;
            } else if self.at_keyword("time") {
                self.at += 4;
                self.skip_blank();
                if self.at_keyword("-p") {
                    self.at += 2;
                }
                self.skip_blank();
                if self.peek().is_none_or(|byte| matches!(byte, b'\n' | b';' | b'&' | b'|')) {
                    return Ok(Node::Simple(Box::default()));
                }
            } else {
                break;
            }
        }
        let first = self.command()?;
        self.skip_blank();
        if self.peek() != Some(b'|') || self.peek_at(1) == Some(b'|') {
            return Ok(first);
        }
        let mut stages = vec![first];
        while self.peek() == Some(b'|') && self.peek_at(1) != Some(b'|') {
            self.at += if self.peek_at(1) == Some(b'&') { 2 } else { 1 };
            self.skip_lines();
            while self.eat_keyword("!") || self.eat_keyword("time") {
                self.skip_blank();
            }
            stages.push(self.command()?);
            self.skip_blank();
        }
        Ok(Node::Pipeline(stages))
    }

    pub(super) fn steps(&mut self) -> Parsed<Steps> {
        let mut steps = Vec::new();
        self.list(&mut steps)?;
        Ok(Rc::new(steps))
    }

    pub(super) fn command(&mut self) -> Parsed<Node> {
        self.enter()?;
        let node = match self.compound()? {
            Some(node) => node,
            None => self.simple()?,
        };
        self.leave();
        Ok(node)
    }

    fn simple(&mut self) -> Parsed<Node> {
        let start = self.at;
        let mut simple = Simple::default();
        let mut end = start;
        loop {
            self.skip_blank();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
            } else if self.peek().is_some_and(|byte| !ends_word(byte))
                || self.starts("<(")
                || self.starts(">(")
            {
                let declares = self.declares(&simple);
                if (simple.words.is_empty() || declares)
                    && let Some(mut assign) = self.assign(declares)?
                {
                    assign.declared = declares;
                    simple.assigns.push(assign);
                } else {
                    simple.words.push(self.word()?);
                    if simple.words.len() == 1 && simple.assigns.is_empty() && self.peek_blank(b'(')
                    {
                        return self.function_after(&simple.words);
                    }
                }
            } else {
                break;
            }
            end = self.at;
        }
        if end == start {
            return Err(Trouble::Syntax);
        }
        simple.cut = Cut::new(start, end);
        Ok(Node::Simple(Box::new(simple)))
    }

    fn peek_blank(&self, wanted: u8) -> bool {
        let mut at = self.at;
        while matches!(self.bytes.get(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        self.bytes.get(at) == Some(&wanted)
    }

    fn declares(&self, simple: &Simple) -> bool {
        let Some(first) = simple.words.first() else { return false };
        let name = self.text.get(first.cut.start as usize..first.cut.end as usize);
        matches!(name, Some("declare" | "local" | "export" | "typeset" | "readonly"))
    }

    /// `name=`, `name+=` or `name[i]=` at the cursor. With `arrays_only`, just `name=(`.
    fn assign(&mut self, arrays_only: bool) -> Parsed<Option<Assign>> {
        let mut at = self.at;
        let first = self.bytes.get(at).copied().unwrap_or_default();
        if !(first.is_ascii_alphabetic() || first == b'_') {
            return Ok(None);
        }
        while self.bytes.get(at).is_some_and(|byte| is_name(*byte)) {
            at += 1;
        }
        let name = Cut::new(self.at, at);
        let mut index = None;
        let start = self.at;
        if self.bytes.get(at) == Some(&b'[') {
            self.at = at + 1;
            let word = self.subscript()?;
            if self.peek() != Some(b']') {
                self.at = start;
                return Ok(None);
            }
            at = self.at + 1;
            index = Some(word);
        }
        let append = self.bytes.get(at) == Some(&b'+');
        let equals = if append { at + 1 } else { at };
        let is_array = self.bytes.get(equals + 1) == Some(&b'(');
        if self.bytes.get(equals) != Some(&b'=') || (arrays_only && !is_array) {
            self.at = start;
            return Ok(None);
        }
        self.at = equals + 1;
        let value = if is_array {
            AssignValue::Array(self.array()?)
        } else if self.peek().is_none_or(ends_word) && !self.starts("<(") && !self.starts(">(") {
            AssignValue::Word(Word { cut: Cut::new(self.at, self.at), ..Word::default() })
        } else {
            AssignValue::Word(self.word()?)
        };
        Ok(Some(Assign { name, index, append, value, declared: false }))
    }

    fn array(&mut self) -> Parsed<Vec<Word>> {
        self.enter()?;
        self.at += 1;
        let mut words = Vec::new();
        loop {
            self.skip_lines();
            match self.peek() {
                Some(b')') => break,
                Some(byte) if !ends_word(byte) || self.starts("<(") => words.push(self.word()?),
                _ => return Err(Trouble::Syntax),
            }
        }
        self.at += 1;
        self.leave();
        Ok(words)
    }
}

fn memchr(wanted: u8, bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == wanted).unwrap_or(bytes.len())
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Bytes that end an unquoted word.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}
