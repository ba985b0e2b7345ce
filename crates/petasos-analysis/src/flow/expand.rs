//! Words to arguments: quote removal, substitutions, splitting. Patterns are not
//! matched against files; an argument only remembers that it had one.

use super::brace;
use super::engine::{Engine, VALUE_MAX};
use super::value::{Arg, Stream, Taint, Value};
use crate::shell::normalise::UNKNOWN;
use crate::shell::tree::{Part, Script, Steps, Word};
use crate::shell::{Source, Span};
use std::rc::Rc;

/// Collects the fields a word expands to.
#[derive(Debug, Default)]
pub(super) struct Fields {
    done: Vec<Arg>,
    current: Arg,
    started: bool,
}

impl Fields {
    fn push(&mut self, text: &str) {
        self.started = true;
        self.current.text.push_str(text);
    }

    fn push_glob(&mut self, text: &str) {
        self.push(text);
        self.current.glob |= text.contains(['*', '?', '[']);
    }

    fn end_field(&mut self, span: Span) {
        if self.started {
            let mut arg = std::mem::take(&mut self.current);
            arg.span = span;
            self.done.push(arg);
            self.started = false;
        }
    }

    /// Adds text that the shell splits at `separators`.
    fn push_split(&mut self, text: &str, separators: &str, span: Span) {
        let mut pieces = text.split(|letter| separators.contains(letter)).peekable();
        while let Some(piece) = pieces.next() {
            if !piece.is_empty() {
                self.push_glob(piece);
            }
            if pieces.peek().is_some() {
                let taint = self.current.taint;
                self.end_field(span);
                self.current.taint = taint;
            }
        }
    }

    fn finish(mut self, span: Span) -> Vec<Arg> {
        self.end_field(span);
        self.done
    }
}

impl Engine<'_> {
    pub(crate) fn expand_all(&mut self, script: &Rc<Script>, words: &[Word]) -> Vec<Arg> {
        let mut args = Vec::with_capacity(words.len());
        for word in words {
            self.expand_into(script, word, &mut args);
        }
        args
    }

    fn expand_into(&mut self, script: &Rc<Script>, word: &Word, args: &mut Vec<Arg>) {
        let span = script.source.span(word.cut);
        if let [Part::Literal(cut)] = word.parts.as_slice()
            && !word.braces
        {
            let text = script.source.get(*cut);
            if !text.starts_with('~') {
                let glob = text.contains(['*', '?', '[']);
                args.push(Arg { text: text.to_owned(), span, glob, taint: Taint::NONE });
                return;
            }
        }
        if !self.charge(word.cut.end.saturating_sub(word.cut.start) as usize, span) {
            return;
        }
        if word.braces
            && let Some(expanded) = brace::expand(script, word)
        {
            for pieces in expanded {
                if !self.charge(300, span) {
                    return;
                }
                let mut fields = Fields::default();
                for (position, piece) in pieces.iter().enumerate() {
                    match piece {
                        brace::Piece::Text(text) if position == 0 => self.tilde(text, &mut fields),
                        brace::Piece::Text(text) => fields.push_glob(text),
                        brace::Piece::Part(part) => self.part(script, part, &mut fields, span),
                    }
                }
                args.extend(fields.finish(span));
            }
            return;
        }
        let mut fields = Fields::default();
        self.parts(script, &word.parts, &mut fields, span);
        args.extend(fields.finish(span));
    }

    fn parts(&mut self, script: &Rc<Script>, parts: &[Part], fields: &mut Fields, span: Span) {
        for (position, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(cut) if position == 0 => {
                    let text = script.source.get(*cut);
                    if text == "~"
                        && parts.len() > 1
                        && !matches!(parts.get(1), Some(Part::Literal(_)))
                    {
                        fields.push(text);
                    } else {
                        self.tilde(text, fields);
                    }
                }
                other => self.part(script, other, fields, span),
            }
        }
    }

    fn tilde(&self, text: &str, fields: &mut Fields) {
        let Some(rest) = text.strip_prefix('~') else {
            fields.push_glob(text);
            return;
        };
        let (user, tail) = match rest.find('/') {
            Some(at) => rest.split_at_checked(at).unwrap_or((rest, "")),
            None => (rest, ""),
        };
        match user {
            "" => fields.push(&self.home()),
            "root" => fields.push("/root"),
            "+" => fields.push(&self.working_directory()),
            "-" => fields.push(&UNKNOWN.to_string()),
            user if user
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)) =>
            {
                fields.push(&format!("/home/{user}"));
            }
            _ => fields.push(&format!("~{user}")),
        }
        fields.push_glob(tail);
    }

    fn part(&mut self, script: &Rc<Script>, part: &Part, fields: &mut Fields, span: Span) {
        match part {
            Part::Literal(cut) => fields.push_glob(script.source.get(*cut)),
            Part::Quoted(cut) => {
                let text = script.source.get(*cut);
                if text.starts_with('~') && fields.current.text.is_empty() {
                    fields.current.taint = fields.current.taint.with(Taint::TILDE);
                }
                fields.push(text);
            }
            Part::Escaped(cut) => {
                fields.push(&super::printf::unescape(script.source.get(*cut), true));
            }
            Part::Double(inner) => {
                fields.started = true;
                self.double(script, inner, fields, span);
            }
            Part::Parameter(parameter) => {
                let value = self.parameter(script, parameter, false, span);
                self.push_value(value, fields, span);
            }
            Part::Command(steps) => {
                let stream = self.substitute(script, steps);
                self.push_stream(stream, fields, Some(span));
            }
            Part::Backquote(text, cut) => {
                let stream = self.backquote(script, text, *cut);
                self.push_stream(stream, fields, Some(span));
            }
            Part::Arithmetic(parts) => {
                let text = self.expand_parts_text(script, parts);
                let value = self.arithmetic(&text);
                fields.push(&value);
            }
            Part::ProcessIn(steps) => {
                let stream = self.substitute(script, steps);
                let path = format!("/dev/fd/{}", 60 + self.state.files.len().min(1000));
                fields.push(&path);
                fields.current.taint = fields.current.taint.with(stream.taint);
                self.state.files.insert(path, stream);
            }
            Part::ProcessOut(steps) => {
                // What the outer command writes is not known yet; the inner one runs on it.
                let outer = std::mem::replace(&mut self.stdin, Stream::unknown(Taint::OPAQUE));
                self.substitute(script, steps);
                self.stdin = outer;
                self.outlets += 1;
                let path = format!("/dev/fd/out{}", self.outlets);
                fields.push(&path);
                self.waiting.insert(path, (Rc::clone(script), steps.clone()));
            }
        }
    }

    fn push_value(&mut self, values: Vec<Arg>, fields: &mut Fields, span: Span) {
        let separators = self.separators();
        let count = values.len();
        for (position, value) in values.into_iter().enumerate() {
            if !self.charge(value.text.len() * 3, span) {
                return;
            }
            fields.current.taint = fields.current.taint.with(value.taint);
            if value.is_unknown() {
                fields.started = true;
            }
            self.split(&value.text, &separators, fields, span);
            if position + 1 < count {
                fields.end_field(span);
            }
        }
    }

    /// Splits text into fields, each of which is paid for.
    fn split(&mut self, text: &str, separators: &str, fields: &mut Fields, span: Span) {
        let before = fields.done.len();
        fields.push_split(text, separators, span);
        self.charge((fields.done.len() - before) * 150, span);
    }

    fn push_stream(&mut self, stream: Stream, fields: &mut Fields, split: Option<Span>) {
        fields.current.taint = fields.current.taint.with(stream.taint);
        match (stream.text, split) {
            (Some(text), Some(span)) => {
                let separators = self.separators();
                self.split(text.trim_end_matches('\n'), &separators, fields, span);
            }
            (Some(text), None) => fields.push(text.trim_end_matches('\n')),
            (None, _) => fields.push(&UNKNOWN.to_string()),
        }
    }

    fn double(&mut self, script: &Rc<Script>, parts: &[Part], fields: &mut Fields, span: Span) {
        for part in parts {
            match part {
                Part::Literal(cut) | Part::Quoted(cut) => {
                    let text = script.source.get(*cut);
                    if text.starts_with('~') && fields.current.text.is_empty() {
                        fields.current.taint = fields.current.taint.with(Taint::TILDE);
                    }
                    fields.push(text);
                }
                Part::Parameter(parameter) => {
                    let values = self.parameter(script, parameter, true, span);
                    let count = values.len();
                    for (position, value) in values.into_iter().enumerate() {
                        if !self.charge(value.text.len() * 3, span) {
                            return;
                        }
                        fields.current.taint = fields.current.taint.with(value.taint);
                        fields.push(&value.text);
                        if position + 1 < count {
                            fields.end_field(span);
                            fields.started = true;
                        }
                    }
                }
                Part::Command(steps) => {
                    let stream = self.substitute(script, steps);
                    self.push_stream(stream, fields, None);
                }
                Part::Backquote(text, cut) => {
                    let stream = self.backquote(script, text, *cut);
                    self.push_stream(stream, fields, None);
                }
                other => self.part(script, other, fields, span),
            }
        }
    }

    /// The text of a word as one piece, without splitting.
    pub(crate) fn expand_text(&mut self, script: &Rc<Script>, word: &Word) -> Arg {
        let span = script.source.span(word.cut);
        let mut fields = Fields { started: true, ..Fields::default() };
        if let [Part::Literal(cut), ..] = word.parts.as_slice() {
            let text = script.source.get(*cut);
            if text.starts_with('~') {
                self.tilde(text, &mut fields);
                self.double(script, word.parts.get(1..).unwrap_or_default(), &mut fields, span);
                return fields.finish(span).pop().unwrap_or_default();
            }
        }
        self.double(script, &word.parts, &mut fields, span);
        let mut args = fields.finish(span);
        match args.len() {
            0 => Arg::new("", span),
            1 => args.pop().unwrap_or_default(),
            _ => {
                let taint = args.iter().fold(Taint::NONE, |taint, arg| taint.with(arg.taint));
                let texts: Vec<String> = args.into_iter().map(|arg| arg.text).collect();
                Arg::of(texts.join(" "), span, taint)
            }
        }
    }

    pub(crate) fn expand_parts_text(&mut self, script: &Rc<Script>, parts: &[Part]) -> String {
        self.expand_document(script, parts).text
    }

    pub(crate) fn expand_document(&mut self, script: &Rc<Script>, parts: &[Part]) -> Arg {
        let mut fields = Fields { started: true, ..Fields::default() };
        self.double(script, parts, &mut fields, Span::default());
        let args = fields.finish(Span::default());
        let taint = args.iter().fold(Taint::NONE, |taint, arg| taint.with(arg.taint));
        let mut text = String::new();
        for arg in args {
            text.push_str(&arg.text);
        }
        Arg { text, taint, ..Arg::default() }
    }

    /// Runs a command on what is not known yet, and once more on what is written to it.
    pub(super) fn coprocess(&mut self, script: &Rc<Script>, name: &str, steps: &Steps) {
        let outer = std::mem::replace(&mut self.stdin, Stream::unknown(Taint::NONE));
        let printed = self.substitute(script, steps);
        self.stdin = outer;
        self.outlets += 1;
        let from = format!("/dev/fd/in{}", self.outlets);
        let to = format!("/dev/fd/out{}", self.outlets);
        self.state.files.insert(from.clone(), printed);
        self.waiting.insert(to.clone(), (Rc::clone(script), Rc::clone(steps)));
        let value = Value { array: Some(vec![from, to]), ..Value::unknown(Taint::NONE) };
        self.state.set(name, value);
    }

    /// Runs a substitution in a subshell and returns what it prints.
    pub(crate) fn substitute(&mut self, script: &Rc<Script>, steps: &Steps) -> Stream {
        if !self.charge(1500, Span::default()) {
            return Stream::unknown(Taint::NONE);
        }
        let captured = std::mem::replace(&mut self.captured, true);
        let choice = (self.choice, self.choices);
        let mark = self.state.enter();
        let mut stream = self.steps(script, steps);
        self.state.leave(mark);
        self.captured = captured;
        (self.choice, self.choices) = choice;
        if stream.text.as_ref().is_some_and(|text| text.len() > VALUE_MAX) {
            stream.text = None;
        }
        stream
    }

    fn backquote(&mut self, script: &Rc<Script>, text: &str, cut: crate::shell::Cut) -> Stream {
        let span = script.source.span(cut);
        let captured = std::mem::replace(&mut self.captured, true);
        let choice = (self.choice, self.choices);
        let mark = self.state.enter();
        let source =
            if script.source.get(cut) == text && (span.end - span.start) as usize == text.len() {
                Source::shifted(text.to_owned(), span.start)
            } else {
                Source::within(text.to_owned(), span)
            };
        let stream = self.run_text(source);
        self.state.leave(mark);
        self.captured = captured;
        (self.choice, self.choices) = choice;
        stream
    }

    pub(crate) fn home(&self) -> String {
        match self.state.get("HOME") {
            Some(value) if !value.text.is_empty() => value.text.clone(),
            _ => self.facts.home.clone(),
        }
    }

    pub(crate) fn working_directory(&self) -> String {
        self.state.cwd.clone().unwrap_or_else(|| UNKNOWN.to_string())
    }

    pub(super) fn separators(&self) -> String {
        match self.state.get("IFS") {
            Some(value) if !value.text.contains(UNKNOWN) => value.text.chars().take(64).collect(),
            _ => " \t\n".to_owned(),
        }
    }
}
