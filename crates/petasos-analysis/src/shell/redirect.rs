//! Redirections, and the announcement of here-documents.

use super::parse::{Parsed, Parser, Waiting, ends_word, is_name};
use super::tree::{Document, Redirect, RedirectKind, Trouble};

impl Parser<'_> {
    /// A redirection at the cursor.
    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        let start = self.at;
        let mut descriptor = None;
        if self.peek() == Some(b'{') {
            let mut at = self.at + 1;
            while self.bytes.get(at).is_some_and(|byte| is_name(*byte)) {
                at += 1;
            }
            if self.bytes.get(at) == Some(&b'}')
                && at > self.at + 1
                && matches!(self.bytes.get(at + 1), Some(b'<' | b'>'))
            {
                self.at = at + 1;
                descriptor = Some(10);
            }
        }
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let value = descriptor.unwrap_or(0u32);
            descriptor = Some(value.saturating_mul(10).saturating_add(u32::from(digit - b'0')));
            self.at += 1;
        }
        let Some(kind) = self.redirect_operator() else {
            self.at = start;
            return Ok(None);
        };
        self.skip_blank();
        if self.peek().is_none_or(ends_word) && !self.starts("<(") && !self.starts(">(") {
            return Err(Trouble::Syntax);
        }
        let mut document = usize::MAX;
        let target = self.word()?;
        if let Some(strip_tabs) = kind.1 {
            let (delimiter, quoted) = self.delimiter(&target);
            document = self.documents.len();
            self.documents.push(Document::default());
            self.waiting.push(Waiting { document, delimiter, quoted, strip_tabs });
        }
        Ok(Some(Redirect { descriptor, kind: kind.0, target, document }))
    }

    fn redirect_operator(&mut self) -> Option<(RedirectKind, Option<bool>)> {
        const OPERATORS: [(&str, RedirectKind, Option<bool>); 12] = [
            ("<<<", RedirectKind::HereString, None),
            ("<<-", RedirectKind::HereDocument, Some(true)),
            ("<<", RedirectKind::HereDocument, Some(false)),
            ("<>", RedirectKind::ReadWrite, None),
            ("<&", RedirectKind::Duplicate, None),
            ("<", RedirectKind::Read, None),
            ("&>>", RedirectKind::Both, None),
            ("&>", RedirectKind::Both, None),
            (">>", RedirectKind::Append, None),
            (">&", RedirectKind::Duplicate, None),
            (">|", RedirectKind::Write, None),
            (">", RedirectKind::Write, None),
        ];
        if !matches!(self.peek()?, b'<' | b'>' | b'&') || self.starts("<(") || self.starts(">(") {
            return None;
        }
        for (text, kind, document) in OPERATORS {
            if self.eat(text) {
                return Some((kind, document));
            }
        }
        None
    }
}
