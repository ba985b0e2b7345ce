//! Looks at the calls of program text and reports what they would do.

use super::alias;
use super::calls::{self, Action};
use super::compute;
use super::evaluate::{Reader, Value};
use super::print::is_bare_shell;
use super::scan::{self, Token};
use super::sight::Seen;
use super::{Language, shells, windows};
use crate::flow::engine::{Engine, NESTING_MAX};
use crate::flow::report::{Deed, Touch};
use crate::flow::value::{Arg, Stream, Taint};
use crate::rule::Signal;
use crate::shell::Span;
use crate::shell::normalise::UNKNOWN;
use crate::words::{begins, lists};
use crate::wrapper::Inner;
use std::collections::HashMap;

impl Engine<'_> {
    /// Variables of this line, where the text asks for its environment.
    fn environment_of(&self, text: &str) -> Vec<(String, String)> {
        let asks = ["env", "ENV"].iter().any(|word| text.contains(word));
        if asks { self.state.texts() } else { Vec::new() }
    }

    /// Judges the text of a program by the calls that can be seen in it.
    pub(crate) fn run_program_text(&mut self, language: Language, code: &Arg) -> Stream {
        let span = code.span;
        if self.nesting >= NESTING_MAX {
            self.report.signal(Signal::Limit, span, "");
            return Stream::unknown(Taint::NONE);
        }
        if !self.charge(code.text.len().saturating_mul(24) + 1500, span) {
            return Stream::unknown(Taint::NONE);
        }
        if matches!(language, Language::PowerShell | Language::OtherShell) {
            self.nesting += 1;
            if language == Language::PowerShell {
                windows::run(self, code);
            } else {
                shells::run(self, code);
            }
            self.nesting -= 1;
            return Stream::unknown(Taint::PROGRAM);
        }
        self.nesting += 1;
        let tokens = scan::tokens(&code.text, language);
        let reader = Reader {
            tokens: &tokens,
            constants: HashMap::new(),
            home: self.home(),
            given: self.state.positional.clone(),
            decoded: false,
            loose: matches!(language, Language::Perl | Language::Ruby),
            environment: self.environment_of(&code.text),
            labelled: language == Language::Other,
            stdin: self.stdin.text.as_ref().filter(|text| text.len() < 4096).cloned(),
            steps: 60_000 + tokens.len() * 8,
        };
        let others = alias::names(&tokens, language);
        let seen = Seen::default();
        let mut walker = Walker {
            engine: self,
            reader,
            language,
            span,
            seen,
            others,
            receiver: None,
            printed: String::new(),
            opened: None,
            round: 0,
            rounds: 1,
        };
        let lines = walker.reader.stdin.as_ref().map(|stdin| by_line(stdin, language));
        let mut round = 0;
        while round < walker.rounds.min(8) {
            walker.round = round;
            for (name, items) in lines.iter().flatten() {
                walker.stands_for(name, &Value::List(items.clone()));
            }
            walker.walk();
            round += 1;
        }
        walker.conclude();
        if walker.engine.report.analysis.findings.is_empty() {
            walker.unaccounted();
        }
        let printed = walker.printed_stream();
        if walker.reader.steps == 0 || walker.others.len() >= alias::NAMES_MAX {
            walker.engine.report.signal(Signal::Limit, span, "code");
        }
        self.nesting -= 1;
        printed
    }
}

/// The variables that hold what flows in, line by line.
fn by_line(stdin: &str, language: Language) -> Vec<(String, Vec<String>)> {
    let lines: Vec<String> = stdin.lines().take(8).map(str::to_owned).collect();
    let first = |line: &String| line.split_whitespace().next().unwrap_or_default().to_owned();
    match language {
        Language::Awk => {
            let fields = lines.iter().map(first).collect();
            vec![("$1".to_owned(), fields), ("$0".to_owned(), lines)]
        }
        Language::Perl | Language::Ruby if !lines.is_empty() => vec![("$_".to_owned(), lines)],
        _ => Vec::new(),
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
    /// What was printed so far.
    pub(super) printed: String,
    /// The file that was opened last to be written.
    pub(super) opened: Option<String>,
    /// The text is read once for each thing that its loops run over.
    pub(super) round: usize,
    pub(super) rounds: usize,
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
                Token::Command(text) => {
                    self.seen.processes |= begins("pgrep pidof", text);
                    let text = self.reader.interpolated(text);
                    self.shell(text);
                }
                Token::Text(text) => self.text(text, at),
                Token::Name(name) => {
                    self.notice(name, at);
                    self.iterate(name, at);
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
        let before = |back: usize| at.checked_sub(back).and_then(|at| self.reader.tokens.get(at));
        let imports = |token: Option<&Token>| matches!(token, Some(Token::Name(name)) if lists("require import from include include_once require_once load source use", name));
        if imports(before(1)) || imports(before(2)) {
            self.seen.evaluates |= text.starts_with("http://") || text.starts_with("https://");
            self.seen.cloud |= calls::is_cloud_library(text);
            self.seen.engine |= text == "dockerode";
            self.seen.sockets |= text == "socket";
            self.seen.network |= lists("socket http https net tls node:http node:https", text);
        }
        self.seen.network |= text.starts_with("http://") || text.starts_with("https://");
        self.seen.processes |= begins("pgrep pidof", text);
        self.seen.duplicates |= text.contains("<&") || text.contains(">&");
        self.seen.shell |=
            ["sh ", "bash ", "/bin/sh -i", "/bin/bash -i"].iter().any(|it| text.starts_with(it))
                || lists("/bin/sh /bin/bash sh bash cmd.exe /bin/zsh", text);
        if self.language == Language::Awk {
            let before = |back: usize, sign: char| at >= back && self.sign(at - back, sign);
            if before(1, '|') || self.sign(at + 1, '|') && !self.sign(at + 2, '|') {
                self.shell(text.to_owned());
            } else if before(1, '>') {
                if text.starts_with(['/', '~', '.']) {
                    self.touch(Deed::Write, text);
                }
                let printed = self.reader.tokens.iter().take(at).rev().find_map(Token::text);
                let printed = printed.map(|text| Value::Text(text.to_owned()));
                self.write(text, printed.unwrap_or(Value::Unknown));
            }
        }
        if at >= 2 && self.sign(at - 1, '[') && !matches!(before(2), Some(Token::Sign('=' | ','))) {
            let (method, close) = self.reader.expression(at, 0);
            if self.sign(close, ']') && self.sign(close + 1, '(') {
                let (args, end) = self.reader.arguments(close + 1, 0);
                self.act(&format!("child_process.{}", method.text()), &args, at, end);
            }
        }
        let method = self.reader.tokens.get(at + 1);
        let runs = matches!(method, Some(Token::Name(name)) if name == ".execute")
            || self.sign(at + 1, '.') && self.sign(at + 2, '!')
            || self.sign(at + 1, '!') && self.seen.runs;
        if runs && self.language == Language::Other {
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
        self.take_group(name, at);
        if self.language == Language::Awk
            && at > 0
            && self.sign(at - 1, '>')
            && let Some(Value::Text(path)) = self.reader.constants.get(name).cloned()
        {
            self.touch(Deed::Write, &path);
        }
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
        // `$f("x")` calls what the variable names.
        let variable = match self.reader.constants.get(name) {
            Some(Value::Text(known)) if self.language == Language::Php => Some(known.clone()),
            _ => None,
        };
        let name = variable.as_deref().unwrap_or(name);
        let loose = self.takes_loose(name, at);
        // `File.rm_rf!("x")`: the sign belongs to the name.
        let open = at + 1 + usize::from(self.sign(at + 1, '!') && self.sign(at + 2, '('));
        if !self.sign(open, '(') && !loose {
            self.passed_on(name, at);
            self.called_bare(name, at);
            let on_receiver = self.receiver.as_ref().is_some_and(|(place, _)| *place == at);
            if name.starts_with('.') && on_receiver && self.language == Language::Ruby {
                self.act(name, &[], at, at + 1);
            }
            return;
        }
        let (args, end) = if self.sign(open, '(') {
            self.reader.arguments(open, 0)
        } else {
            let handle = self.names_handle(name, at);
            self.reader.loose_items(at + 1 + usize::from(handle), 0)
        };
        self.note_printed(name, &args);
        if let Some(path) = self.opened.clone().filter(|_| super::print::feeds(name)) {
            let text = args.iter().rev().find(|value| matches!(value, Value::Text(_)));
            self.write(&path, text.cloned().unwrap_or(Value::Unknown));
        }
        if !self.by_other_name(name, &args, (at, open, end)) {
            self.called(name, &args, at, end);
        }
    }

    /// Whether a name is called with what follows it, without parentheses.
    fn takes_loose(&self, name: &str, at: usize) -> bool {
        matches!(
            self.language,
            Language::Perl
                | Language::Awk
                | Language::Ruby
                | Language::Php
                | Language::Other
                | Language::AppleScript
        ) && matches!(
            self.reader.tokens.get(at + 1),
            Some(Token::Text(_) | Token::Number(_) | Token::Name(_))
        ) || self.sign(at + 1, '[')
            && (self.reader.loose && name.starts_with("run")
                || (self.reader.loose || self.language == Language::Other)
                    && calls::action(name).is_some())
    }

    /// `print F "x"`, `open my $f, …`: a handle is no text.
    fn names_handle(&self, name: &str, at: usize) -> bool {
        let (first, second) = (self.reader.tokens.get(at + 1), self.reader.tokens.get(at + 2));
        let Some(Token::Name(word)) = first else { return false };
        lists("my our local", word)
            || matches!(name, "print" | "printf" | "say") && matches!(second, Some(Token::Text(_)))
    }

    /// `path("x")->remove_tree` of Perl, `User.delete_all` of Ruby: without parentheses.
    fn called_bare(&mut self, name: &str, at: usize) {
        let method = match self.language {
            Language::Perl => self.sign(at.saturating_sub(1), '>'),
            language => language == Language::Ruby && name.contains('.'),
        };
        if method && matches!(calls::action(name), Some(Action::DeleteTree | Action::Destroy)) {
            self.act(name, &[], at, at + 1);
        }
    }

    /// `(a / b).method()`, `["a", "b"].each`: what stands in front is what the method is called on.
    pub(super) fn take_group(&mut self, name: &str, at: usize) {
        let closed = |sign: char| at > 0 && self.sign(at - 1, sign);
        let list = closed(']');
        let known = self.receiver.as_ref().is_some_and(|(place, _)| *place == at);
        if known || !name.starts_with('.') || !list && !closed(')') {
            return;
        }
        let (opens, closes) = if list { ('[', ']') } else { ('(', ')') };
        let mut open = 0;
        let start = (at.saturating_sub(64)..at).rev().find(|place| {
            open += usize::from(self.sign(*place, closes));
            let opens = self.sign(*place, opens);
            if opens {
                open -= 1;
            }
            opens && open == 0
        });
        let Some(start) = start else { return };
        let before = start.checked_sub(1).and_then(|at| self.reader.tokens.get(at));
        let value = match before {
            // A part of something, but for `Dir["*"]`.
            Some(Token::Name(name)) if list && name == "Dir" => {
                self.reader.expression(start + 1, 0).0
            }
            Some(Token::Name(_) | Token::Sign(')' | ']')) if list => return,
            _ if list => self.reader.operand(start, 0).0,
            _ => self.reader.expression(start + 1, 0).0,
        };
        self.receiver = Some((at, value));
    }

    /// A call, and what it leaves for the method behind it.
    fn called(&mut self, name: &str, args: &[Value], at: usize, end: usize) {
        self.act(name, args, at, end);
        self.hand_over(name, args, at, end);
        if matches!(self.reader.tokens.get(end), Some(Token::Name(method)) if method.starts_with('.'))
        {
            let last = name.rsplit('.').next().unwrap_or_default();
            let first = args.first().cloned().unwrap_or(Value::Unknown);
            let value = match self.receiver.take() {
                Some((position, before)) if position == at => compute::method(name, &before, args),
                _ if lists("Path PosixPath Pathname file File", last) => first,
                _ if last == "require" => {
                    self.required(&first.text(), end);
                    Value::Unknown
                }
                // Without the methods behind it.
                _ => self.reader.operand(at, 0).0,
            };
            self.receiver = Some((end, value));
        }
    }

    pub(super) fn shell(&mut self, mut text: String) {
        // A command that ends in a blank goes on with something that is not known.
        if text.ends_with(' ') {
            text.push(UNKNOWN);
        }
        let listed = self.engine.stdin.taint.has(Taint::PROCESSES);
        if listed && text.starts_with("kill ") && text.contains(UNKNOWN) {
            let words = text
                .split_whitespace()
                .map(|word| Arg::of(word.to_owned(), self.span, Taint::PROCESSES));
            self.start(Inner::Argv(words.collect()), String::new());
            return;
        }
        let taint = if self.reader.decoded { Taint::DECODED } else { Taint::NONE };
        let fed = if is_bare_shell(&text) { self.fed() } else { String::new() };
        let code = Arg::of(text, self.span, taint);
        self.start(Inner::Shell(code, Vec::new()), fed);
    }

    /// Runs what the text starts, with what it writes to it.
    fn start(&mut self, inner: Inner, fed: String) {
        let outer = (!fed.is_empty())
            .then(|| std::mem::replace(&mut self.engine.stdin, Stream::known(fed)));
        self.engine.via.push("code");
        self.engine.run_inner(inner, self.span);
        self.engine.via.pop();
        if let Some(outer) = outer {
            self.engine.stdin = outer;
        }
    }

    pub(super) fn program(&mut self, argv: Vec<String>) {
        let fed = if is_bare_shell(&argv.join(" ")) { self.fed() } else { String::new() };
        let argv: Vec<Arg> = argv.into_iter().map(|text| Arg::new(text, self.span)).collect();
        self.start(Inner::Argv(argv), fed);
    }

    pub(super) fn touch(&mut self, deed: Deed, text: &str) {
        let path = self.engine.resolve(text);
        let touch = Touch::new(deed, &path, self.engine.elevated, self.engine.facts);
        let leaf = || format!("code touching {}", crate::flow::report::shown(text));
        self.engine.report.touch(&touch, self.span, &leaf);
    }

    /// The path an operation is about: its argument, or what its method was called on.
    pub(super) fn subject(&self, name: &str, args: &[Value], at: usize) -> String {
        let last = name.rsplit('.').next().unwrap_or_default();
        let on_path = args.is_empty()
            || lists(
                "unlink rmdir write_text write_bytes read_text read_bytes open touch rename chmod \
                rmtree delete remove",
                last,
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
}
