//! Looks at the calls of program text and reports what they would do.

use super::alias;
use super::calls::{self, Action};
use super::evaluate::{self, Reader, Value};
use super::scan::{self, Token};
use super::sight::Seen;
use super::{Language, windows};
use crate::flow::engine::{Engine, NESTING_MAX};
use crate::flow::report::{Deed, Touch};
use crate::flow::value::{Arg, Stream, Taint};
use crate::path;
use crate::rules::Signal;
use crate::shell::Span;
use crate::shell::normalise::UNKNOWN;
use crate::sql;
use crate::wrappers::Inner;
use std::collections::HashMap;
use std::ops::Range;

impl Engine<'_> {
    /// Judges the text of a program by the calls that can be seen in it.
    pub(crate) fn run_program_text(&mut self, language: Language, code: &Arg) -> Stream {
        let span = code.span;
        if self.nesting >= NESTING_MAX {
            self.report.signal(Signal::Limit, span, "");
            return Stream::unknown(Taint::NONE);
        }
        if !self.charge(code.text.len().saturating_mul(24) + 512, span) {
            return Stream::unknown(Taint::NONE);
        }
        if language == Language::PowerShell {
            self.nesting += 1;
            windows::run(self, code);
            self.nesting -= 1;
            return Stream::unknown(Taint::PROGRAM);
        }
        self.nesting += 1;
        let tokens = scan::tokens(&code.text, language);
        let reader = Reader {
            tokens: &tokens,
            constants: HashMap::new(),
            home: self.home(),
            decoded: false,
            steps: 60_000 + tokens.len() * 8,
        };
        let others = alias::names(&tokens, language);
        let seen = Seen::default();
        let mut walker =
            Walker { engine: self, reader, language, span, seen, others, receiver: None };
        let loops = alias::loops(&tokens);
        let rounds = loops.values().map(Vec::len).max().unwrap_or(1).clamp(1, 8);
        for round in 0..rounds {
            for (name, items) in &loops {
                if let Some(item) = items.get(round).or_else(|| items.last()) {
                    walker.reader.constants.insert(name.clone(), Value::Text(item.clone()));
                }
            }
            walker.walk();
        }
        walker.conclude();
        if walker.reader.steps == 0 {
            walker.engine.report.signal(Signal::Limit, span, "code");
        }
        self.nesting -= 1;
        Stream::unknown(Taint::PROGRAM)
    }
}

pub(super) struct Walker<'w, 'e, 't> {
    pub(super) engine: &'w mut Engine<'e>,
    pub(super) reader: Reader<'t>,
    pub(super) language: Language,
    pub(super) span: Span,
    pub(super) seen: Seen,
    /// Names that were given to known functions.
    pub(super) others: HashMap<String, String>,
    /// Value of the call before a method name, and where that name stands.
    pub(super) receiver: Option<(usize, Value)>,
}

impl Walker<'_, '_, '_> {
    fn walk(&mut self) {
        let tokens = self.reader.tokens;
        for (at, token) in tokens.iter().enumerate() {
            // Without steps left nothing more is learnt, and the text is refused at the end.
            if self.reader.steps == 0 || !self.engine.charge(100, self.span) {
                return;
            }
            match token {
                Token::Command(text) => self.shell(text.clone()),
                Token::Text(text) => self.text(text, at),
                Token::Name(name) => {
                    self.notice(name, at);
                    match alias::known(name, &self.others) {
                        Some(known) => self.name(&known, at),
                        None => self.name(name, at),
                    }
                }
                Token::Sign(_) | Token::Number(_) => {}
            }
        }
    }

    pub(super) fn sign(&self, at: usize, sign: char) -> bool {
        self.reader.tokens.get(at) == Some(&Token::Sign(sign))
    }

    fn text(&mut self, text: &str, at: usize) {
        // A function by its name, as PHP hands it to `array_map`.
        self.seen.deletes |= self.language == Language::Php && matches!(text, "unlink" | "rmdir");
        self.seen.network |= text.starts_with("http://") || text.starts_with("https://");
        self.seen.duplicates |= text.contains("<&") || text.contains(">&");
        self.seen.shell |= text.starts_with("sh ")
            || text.starts_with("bash ")
            || matches!(text, "/bin/sh" | "/bin/bash" | "sh" | "bash" | "cmd.exe" | "/bin/zsh")
            || text.starts_with("/bin/sh -i")
            || text.starts_with("/bin/bash -i");
        if self.language == Language::Awk {
            let before = |back: usize, sign: char| at >= back && self.sign(at - back, sign);
            if before(1, '|') || self.sign(at + 1, '|') && !self.sign(at + 2, '|') {
                self.shell(text.to_owned());
            } else if before(1, '>') && text.starts_with(['/', '~', '.']) {
                self.touch(Deed::Write, text);
            }
        }
        if at >= 1 && self.sign(at - 1, '[') && self.sign(at + 1, ']') && self.sign(at + 2, '(') {
            let (args, end) = self.reader.arguments(at + 2, 0);
            self.act(&format!("child_process.{text}"), &args, at, end);
        }
        let method = self.reader.tokens.get(at + 1);
        if matches!(method, Some(Token::Name(name)) if name == ".execute")
            && self.language == Language::Other
        {
            self.shell(text.to_owned());
        }
        if self.language == Language::AppleScript
            && at >= 1
            && matches!(self.reader.tokens.get(at - 1), Some(Token::Name(name)) if name == "script")
        {
            self.shell(text.to_owned());
        }
    }

    fn name(&mut self, name: &str, at: usize) {
        let piped = self.language == Language::Awk
            && self.sign(at + 1, '|')
            && matches!(self.reader.tokens.get(at + 2), Some(Token::Name(word)) if word == "getline");
        if let Some(Value::Text(command)) = self.reader.constants.get(name).filter(|_| piped) {
            self.shell(command.clone());
            return;
        }
        if self.sign(at + 1, '=')
            && !self.sign(at + 2, '=')
            && !self.sign(at + 2, '>')
            && !self.sign(at + 2, '~')
        {
            let (value, _) = self.reader.expression(at + 2, 0);
            if self.reader.constants.len() < 1024 {
                self.reader.constants.insert(name.to_owned(), value);
            }
            return;
        }
        let loose = matches!(
            self.language,
            Language::Perl
                | Language::Ruby
                | Language::Php
                | Language::Other
                | Language::AppleScript
        ) && matches!(
            self.reader.tokens.get(at + 1),
            Some(Token::Text(_) | Token::Number(_) | Token::Name(_))
        );
        // `File.rm_rf!("x")`: the sign belongs to the name.
        let open = at + 1 + usize::from(self.sign(at + 1, '!') && self.sign(at + 2, '('));
        if !self.sign(open, '(') && !loose {
            return;
        }
        let (args, end) = if self.sign(open, '(') {
            self.reader.arguments(open, 0)
        } else {
            self.loose_arguments(at + 1)
        };
        if name == "getattr" && self.sign(end, '(') {
            let method = args.get(1).map(Value::text).unwrap_or_default();
            let (inner, _) = self.reader.arguments(end, 0);
            self.act(&format!("os.{method}"), &inner, at, end);
            return;
        }
        self.act(name, &args, at, end);
        if matches!(self.reader.tokens.get(end), Some(Token::Name(method)) if method.starts_with('.'))
        {
            let last = name.rsplit('.').next().unwrap_or_default();
            let first = args.first().cloned().unwrap_or(Value::Unknown);
            let value = match self.receiver.take() {
                Some((position, before)) if position == at => {
                    evaluate::method(name, &before, &args)
                }
                _ if matches!(last, "Path" | "PosixPath" | "Pathname" | "file") => first,
                _ => self.base_value(at),
            };
            self.receiver = Some((end, value));
        }
    }

    /// The value of the expression at `at` without the methods behind it.
    fn base_value(&mut self, at: usize) -> Value {
        let (value, _) = self.reader.operand(at, 0);
        value
    }

    fn loose_arguments(&mut self, start: usize) -> (Vec<Value>, usize) {
        let mut values = Vec::new();
        let mut at = start;
        while values.len() < 16 {
            let (value, next) = self.reader.expression(at, 0);
            values.push(value);
            at = next;
            if !self.sign(at, ',') {
                break;
            }
            at += 1;
        }
        (values, at)
    }

    pub(super) fn shell(&mut self, mut text: String) {
        // A command that ends in a blank goes on with something that is not known.
        if text.ends_with(' ') {
            text.push(UNKNOWN);
        }
        let taint = if self.reader.decoded { Taint::DECODED } else { Taint::NONE };
        let code = Arg { text, span: self.span, glob: false, taint };
        self.engine.via.push("code");
        self.engine.run_inner(Inner::Shell(code, Vec::new()), self.span);
        self.engine.via.pop();
    }

    fn program(&mut self, argv: Vec<String>) {
        let argv: Vec<Arg> = argv.into_iter().map(|text| Arg::new(text, self.span)).collect();
        self.engine.via.push("code");
        self.engine.run_inner(Inner::Argv(argv), self.span);
        self.engine.via.pop();
    }

    pub(super) fn touch(&mut self, deed: Deed, text: &str) {
        let path = self.engine.resolve(text);
        let touch = Touch::new(deed, &path, self.engine.elevated, self.engine.facts);
        let leaf = || format!("code touching {}", crate::flow::report::shown(text));
        self.engine.report.touch(&touch, self.span, &leaf);
    }

    /// The path an operation is about: its argument, or what its method was called on.
    fn subject(&self, name: &str, args: &[Value], at: usize) -> String {
        let last = name.rsplit('.').next().unwrap_or_default();
        let on_path = matches!(
            last,
            "unlink"
                | "rmdir"
                | "write_text"
                | "write_bytes"
                | "read_text"
                | "read_bytes"
                | "open"
                | "touch"
                | "rename"
                | "chmod"
                | "rmtree"
                | "delete"
                | "remove"
        );
        if !on_path {
            return args.first().map_or_else(|| UNKNOWN.to_string(), Value::text);
        }
        if let Some((position, value)) = &self.receiver
            && *position == at
        {
            return value.text();
        }
        if let Some((owner, _)) = name.rsplit_once('.')
            && let Some(value) = self.reader.constants.get(owner)
        {
            return value.text();
        }
        let method = name.starts_with('.')
            || name.ends_with("write_text")
            || name.ends_with("read_text")
            || name.ends_with("write_bytes");
        if method {
            UNKNOWN.to_string()
        } else {
            args.first().map_or_else(|| UNKNOWN.to_string(), Value::text)
        }
    }

    fn act(&mut self, name: &str, args: &[Value], at: usize, end: usize) {
        let Some(mut action) = calls::action(name) else { return };
        if name == "exec" && self.language != Language::Python {
            self.seen.duplicates = true;
            action = Action::Command;
        }
        let first = args.first().cloned().unwrap_or(Value::Unknown);
        let subject = self.subject(name, args, at);
        match action {
            Action::Command | Action::Program | Action::Replace => {
                self.seen.runs_unknown |= first.text().starts_with(UNKNOWN);
                match (
                    alias::listed_arguments(self.reader.tokens.get(at..end).unwrap_or_default()),
                    &first,
                ) {
                    (Some(rest), Value::Text(program)) => {
                        let mut argv = vec![program.clone()];
                        argv.extend(rest);
                        self.program(argv);
                    }
                    _ => self.run(action, args),
                }
            }
            Action::DeleteTree => {
                self.touch(
                    Deed::Delete { recursive: true, bulk: false, narrowed: false },
                    &subject,
                );
            }
            Action::DeleteMaybeTree => self.delete_maybe_tree(name, at..end, &subject),
            Action::Delete => {
                self.seen.deletes = true;
                let recursive = self.says_recursive(at..end);
                self.touch(Deed::Delete { recursive, bulk: false, narrowed: false }, &subject);
            }
            Action::Open => self.open(args, &subject),
            Action::Write => self.touch(Deed::Write, &subject),
            Action::WriteSecond => {
                if let Some(target) = args.get(1) {
                    self.touch(Deed::Write, &target.text());
                }
                self.touch(Deed::Read, &first.text());
            }
            Action::Move => self.move_file(&first, args.get(1)),
            Action::Read => self.touch(Deed::Read, &subject),
            Action::Evaluate => self.evaluate(&first),
            Action::Query => {
                if name.ends_with("dropDatabase") || sql::is_destructive(&first.text()) {
                    self.engine.report.signal(Signal::DestructiveSql, self.span, first.text());
                }
            }
            Action::Kill => {
                if args.contains(&Value::Number(-1))
                    && !matches!(args.get(1), Some(Value::Number(-1)))
                    || args.get(1) == Some(&Value::Number(-1)) && self.language != Language::Python
                {
                    self.engine.report.signal(Signal::KillAll, self.span, name);
                }
            }
            Action::Mode => {
                let open = args.iter().any(|value| matches!(value, Value::Number(mode) if mode & 0o002 != 0 && *mode <= 0o7777));
                if open {
                    self.engine.report.signal(Signal::WorldWritable, self.span, name);
                }
            }
            Action::Power => self.engine.report.signal(Signal::Power, self.span, name),
        }
    }

    fn delete_maybe_tree(&mut self, name: &str, inside: Range<usize>, subject: &str) {
        let recursive = self.says_recursive(inside);
        if recursive || name.starts_with("fs.") || name.starts_with('.') {
            self.seen.deletes = true;
            self.touch(Deed::Delete { recursive, bulk: false, narrowed: false }, subject);
        }
    }

    fn says_recursive(&self, inside: Range<usize>) -> bool {
        let tokens = self.reader.tokens.get(inside).unwrap_or_default();
        tokens.iter().any(|token| matches!(token, Token::Name(name) if name == "recursive"))
    }

    fn move_file(&mut self, source: &Value, target: Option<&Value>) {
        if let Some(target) = target {
            self.touch(Deed::Write, &target.text());
        }
        let resolved = self.engine.resolve(&source.text());
        if path::is_vital(&resolved, self.engine.facts) {
            self.touch(
                Deed::Delete { recursive: true, bulk: false, narrowed: false },
                &source.text(),
            );
        }
    }

    fn run(&mut self, action: Action, args: &[Value]) {
        let Some(first) = args.first() else { return };
        let listed = args.iter().find_map(|value| match value {
            Value::List(items) => Some(items.clone()),
            _ => None,
        });
        match (action, first, listed) {
            (Action::Replace, _, Some(items)) => self.program(items),
            (Action::Replace, _, None) => {
                self.program(args.iter().skip(1).map(Value::text).collect());
            }
            (_, Value::List(items), _) => self.program(items.clone()),
            (_, Value::Text(program), Some(items)) => {
                let mut argv = vec![program.clone()];
                argv.extend(items);
                self.program(argv);
            }
            (_, Value::Text(_), None)
                if args.len() > 1
                    && args.iter().skip(1).all(|value| matches!(value, Value::Text(_))) =>
            {
                self.program(args.iter().map(Value::text).collect());
            }
            (_, Value::Text(text), None) => self.shell(text.clone()),
            _ => {}
        }
    }

    fn open(&mut self, args: &[Value], subject: &str) {
        // Perl: the handle first, then a mode, then the path, or both in one.
        let perl = self.language == Language::Perl;
        let texts: Vec<String> = args.iter().skip(usize::from(perl)).map(Value::text).collect();
        if perl {
            match texts.as_slice() {
                [mode, path, ..] if mode.starts_with('>') || mode.starts_with("+<") => {
                    self.touch(Deed::Write, path);
                }
                [mode, command, ..] if mode.contains('|') => self.shell(command.clone()),
                [mode, path, ..] if mode.starts_with('<') => self.touch(Deed::Read, path),
                [both] if both.starts_with('>') => {
                    self.touch(Deed::Write, both.trim_start_matches(['>', ' ']));
                }
                [both] if both.starts_with('|') || both.ends_with('|') => {
                    self.shell(both.trim_matches('|').to_owned());
                }
                [both] => self.touch(Deed::Read, both.trim_start_matches(['<', ' '])),
                _ => {}
            }
            return;
        }
        let on_receiver = args.first().is_none_or(|value| value.text() != subject);
        let mode = args.get(usize::from(!on_receiver));
        let writes = matches!(mode, Some(Value::Text(mode)) if mode.len() <= 4 && mode.contains(['w', 'a', 'x', '+']));
        self.touch(if writes { Deed::Write } else { Deed::Read }, subject);
    }

    fn evaluate(&mut self, value: &Value) {
        self.seen.evaluates = true;
        if let Value::Text(text) = value
            && !text.contains(UNKNOWN)
        {
            let taint = if self.reader.decoded { Taint::DECODED } else { Taint::NONE };
            let code = Arg { text: text.clone(), span: self.span, glob: false, taint };
            self.engine.run_inner(Inner::Code(self.language, code), self.span);
        }
    }
}
