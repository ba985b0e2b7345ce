//! What a known call does, once its arguments are worked out.

use super::Language;
use super::alias;
use super::calls::{self, Action};
use super::evaluate::Value;
use super::scan::Token;
use super::walk::Walker;
use crate::flow::report::Deed;
use crate::flow::value::{Arg, Stream, Taint};
use crate::path;
use crate::rule::Signal;
use crate::shell::normalise::UNKNOWN;
use crate::sql;
use crate::words::{ends, lists};
use crate::wrapper::Inner;
use std::ops::Range;

impl Walker<'_, '_, '_> {
    pub(super) fn act(&mut self, name: &str, args: &[Value], at: usize, end: usize) {
        let Some(mut action) = calls::action(name) else { return };
        // `/rm -rf/.exec(text)`: a pattern is looked for.
        if name == ".exec" && at > 0 && self.sign(at - 1, '/') {
            return;
        }
        if name == "exec" && self.language != Language::Python {
            self.seen.duplicates = true;
            action = Action::Command;
        }
        let first = args.first().cloned().unwrap_or(Value::Unknown);
        let subject = self.subject(name, args, at);
        match action {
            Action::Command | Action::Program | Action::Replace => {
                self.start_program(action, args, at..end);
            }
            Action::DeleteTree => {
                self.seen.deletes |= subject.contains(UNKNOWN);
                self.touch(Deed::TREE, &subject);
            }
            Action::DeleteMaybeTree if matches!(&first, Value::Text(flags) if flags.starts_with('-')) =>
            {
                let words = args.iter().map(Value::text);
                self.program(std::iter::once("rm".to_owned()).chain(words).collect());
            }
            Action::DeleteMaybeTree => self.delete_maybe_tree(name, at..end, &subject),
            Action::Delete => {
                self.seen.deletes |= subject.contains([UNKNOWN, '*']);
                let recursive = self.says_recursive(at..end);
                self.touch(Deed::Delete { recursive, bulk: false, narrowed: false }, &subject);
            }
            Action::Open => self.open(args, &subject, at..end),
            // `User::truncate()`
            Action::Write if args.is_empty() && self.language == Language::Php => {
                self.engine.report.signal(Signal::DestructiveSql, self.span, name);
            }
            Action::Write => {
                self.touch(Deed::Write, &subject);
                let text = args.iter().rev().find(|value| value.text() != subject);
                self.write(&subject, text.cloned().unwrap_or(Value::Unknown));
            }
            Action::WriteSecond => self.write_second(name, args),
            Action::Move => self.move_file(&first, args.get(1)),
            Action::Read => self.touch(Deed::Read, &subject),
            Action::Unpack => self.unpack(name, args),
            Action::Evaluate => self.evaluate(&first),
            Action::Load => self.load(&first),
            Action::Query => {
                if name.ends_with("dropDatabase") || sql::is_destructive(&first.text()) {
                    self.engine.report.signal(Signal::DestructiveSql, self.span, first.text());
                }
            }
            _ => self.affect(action, name, args),
        }
    }

    /// The archive stands in front, or is what the method was called on.
    fn unpack(&mut self, name: &str, args: &[Value]) {
        let place = args.iter().rev().find(|value| matches!(value, Value::Text(_)));
        let place = place.map(Value::text).unwrap_or_default();
        if path::is_home(&self.engine.resolve(&place), self.engine.facts) {
            self.engine.report.signal(Signal::KeyImplant, self.span, name);
        }
        self.touch(Deed::Write, &place);
    }

    fn load(&mut self, file: &Value) {
        let file = Arg::new(file.text(), self.span);
        self.engine.run_inner(Inner::File(self.language, file, Vec::new()), self.span);
    }

    /// What is copied or linked: `copy(from, to)`.
    fn write_second(&mut self, name: &str, args: &[Value]) {
        let first = args.first().map(Value::text).unwrap_or_default();
        let target = args.get(1).map(Value::text).unwrap_or_default();
        if args.len() > 1 {
            self.touch(Deed::Write, &target);
        }
        if name.ends_with("urlretrieve") {
            let path = self.engine.resolve(&target);
            self.engine.write_file(path, Stream::unknown(Taint::DOWNLOADED), false);
        }
        if name.contains("link") || name.contains("ln_s") {
            self.engine.link(&target, &first, false);
        }
        self.touch(Deed::Read, &first);
    }

    /// Runs what the arguments of a call name.
    fn start_program(&mut self, action: Action, args: &[Value], inside: Range<usize>) {
        let first = args.first().cloned().unwrap_or(Value::Unknown);
        let end = inside.end;
        let tokens = self.reader.tokens.get(inside.clone()).unwrap_or_default();
        if tokens
            .iter()
            .skip(1)
            .any(|token| matches!(token, Token::Name(name) if calls::reaches_network(name)))
        {
            self.engine.report.signal(Signal::RemoteCode, self.span, "code");
        }
        if let Some(place) = tokens.windows(3).find_map(directory) {
            let place = self.engine.resolve(place);
            let outer = self.engine.state.cwd.replace(place);
            let rest = args.iter().take_while(|value| Some(value.text()) != self.engine.state.cwd);
            let rest: Vec<Value> = rest.cloned().collect();
            self.run(action, &rest);
            self.engine.state.cwd = outer;
            return;
        }
        self.seen.runs_unknown |= first.text().starts_with(UNKNOWN);
        match (alias::listed_arguments(self.reader.tokens.get(inside).unwrap_or_default()), &first)
        {
            (Some(rest), Value::Text(program)) => {
                let mut argv = vec![program.clone()];
                argv.extend(rest);
                self.program(argv);
            }
            (None, Value::Text(program)) if args.len() == 1 => {
                let mut argv = vec![program.clone()];
                argv.extend(self.chained(end));
                if argv.len() > 1 { self.program(argv) } else { self.run(action, args) }
            }
            _ => self.run(action, args),
        }
    }

    /// Calls that reach processes, modes or the machine.
    fn affect(&mut self, action: Action, name: &str, args: &[Value]) {
        match action {
            Action::Destroy => {
                self.engine.report.signal(Signal::DestructiveSql, self.span, name);
            }
            Action::Enter => {
                let place = self.engine.resolve(&args.first().map(Value::text).unwrap_or_default());
                self.engine.state.cwd = Some(place).filter(|place| place.starts_with('/'));
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
                let opens = args.iter().any(|value| matches!(value, Value::Number(mode) if (mode & 0o002 != 0 || mode & 0o6000 != 0) && *mode <= 0o7777));
                let open = if name.ends_with("umask") {
                    args.first() == Some(&Value::Number(0))
                } else {
                    opens
                };
                if open {
                    self.engine.report.signal(Signal::WorldWritable, self.span, name);
                }
            }
            _ => self.engine.report.signal(Signal::Power, self.span, name),
        }
    }

    fn delete_maybe_tree(&mut self, name: &str, inside: Range<usize>, subject: &str) {
        let recursive = self.says_recursive(inside);
        if recursive || name.starts_with("fs.") || name.starts_with('.') {
            self.seen.deletes |= subject.contains([UNKNOWN, '*']);
            self.touch(Deed::Delete { recursive, bulk: false, narrowed: false }, subject);
        }
    }

    fn says_recursive(&self, inside: Range<usize>) -> bool {
        let tokens = self.reader.tokens.get(inside).unwrap_or_default();
        tokens.iter().any(|token| match token {
            Token::Name(name) => matches!(name.as_str(), "recursive" | "recurse" | "Recurse"),
            Token::Text(text) => text == "s",
            _ => false,
        })
    }

    fn move_file(&mut self, source: &Value, target: Option<&Value>) {
        if let Some(target) = target {
            self.touch(Deed::Write, &target.text());
        }
        let resolved = self.engine.resolve(&source.text());
        let recursive = path::is_vital(&resolved, self.engine.facts);
        if recursive || !resolved.starts_with(UNKNOWN) {
            self.touch(Deed::Delete { recursive, bulk: false, narrowed: false }, &source.text());
        }
    }

    fn run(&mut self, action: Action, args: &[Value]) {
        let Some(first) = args.first() else { return };
        let listed = args.iter().find_map(|value| match value {
            Value::List(items) => Some(items.clone()),
            _ => None,
        });
        match (action, first, listed) {
            (Action::Replace, first, listed) => {
                let listed =
                    listed.unwrap_or_else(|| args.iter().skip(1).map(Value::text).collect());
                self.replace(first, listed);
            }
            (_, Value::List(items), _) => self.program(items.clone()),
            (Action::Command, Value::Text(text), Some(items))
                if items.is_empty() || text.contains(' ') =>
            {
                self.shell(text.clone());
            }
            (_, Value::Text(_), Some(_)) => {
                let last = args.iter().position(|value| matches!(value, Value::List(_)));
                let words = args.iter().take(last.unwrap_or(0) + 1).flat_map(Value::each);
                self.program(words.map(|word| word.text()).collect());
            }
            // `popen("sh", "w")`
            (Action::Command, Value::Text(text), None) if is_mode(args.get(1)) => {
                self.shell(text.clone());
            }
            (_, Value::Text(_), None) if matches!(args.get(1), Some(Value::Text(_))) => {
                let words = args.iter().take_while(|value| matches!(value, Value::Text(_)));
                self.program(words.map(Value::text).collect());
            }
            (_, Value::Text(text), None) => self.shell(text.clone()),
            _ => {}
        }
    }

    /// `execv(path, [name, …])`: what runs is the path, whatever it is called.
    fn replace(&mut self, first: &Value, listed: Vec<String>) {
        let argv = match first {
            Value::Text(path) => {
                // PHP gives the arguments without a name in front.
                let named = listed.first().is_some_and(|name| !name.starts_with('-'));
                let rest = listed.into_iter().skip(usize::from(named));
                std::iter::once(path.clone()).chain(rest).collect()
            }
            _ => listed,
        };
        self.program(argv);
    }

    fn open(&mut self, args: &[Value], subject: &str, inside: Range<usize>) {
        // Perl: the handle first, then a mode, then the path, or both in one.
        let perl = self.language == Language::Perl;
        let texts: Vec<String> = args.iter().skip(usize::from(perl)).map(Value::text).collect();
        if perl {
            match texts.as_slice() {
                [mode, path, ..] if mode.starts_with('>') || mode.starts_with("+<") => {
                    self.touch(Deed::Write, path);
                    self.opened = Some(path.clone());
                }
                [mode, program, args @ ..] if mode.contains('|') && !args.is_empty() => {
                    self.program(std::iter::once(program).chain(args).cloned().collect());
                }
                [mode, command, ..] if mode.contains('|') => self.shell(command.clone()),
                [mode, path, ..] if mode.starts_with('<') => self.touch(Deed::Read, path),
                [both] if both.starts_with('>') => {
                    let path = both.trim_start_matches(['>', ' ']);
                    self.touch(Deed::Write, path);
                    self.opened = Some(path.to_owned());
                }
                [both] if both.starts_with('|') || both.ends_with('|') => {
                    self.shell(both.trim_matches('|').to_owned());
                }
                [both] => self.touch(Deed::Read, both.trim_start_matches(['<', ' '])),
                _ => {}
            }
            return;
        }
        if let Some(command) = subject.strip_prefix('|') {
            self.shell(command.to_owned());
            return;
        }
        let on_receiver = args.first().is_none_or(|value| value.text() != subject);
        let mode = args.get(usize::from(!on_receiver));
        let writes = matches!(mode, Some(Value::Text(mode)) if mode.len() <= 4 && mode.contains(['w', 'a', 'x', '+']))
            || self.reader.tokens.get(inside).unwrap_or_default().iter().any(|token| matches!(token, Token::Name(flag) if ends("O_WRONLY O_RDWR O_APPEND O_TRUNC inplace", flag)));
        self.touch(if writes { Deed::Write } else { Deed::Read }, subject);
        if writes {
            self.opened = Some(subject.to_owned());
        }
    }

    /// Keeps what the text writes to a file, for whatever runs it later on the line.
    pub(super) fn write(&mut self, path: &str, text: Value) {
        let path = self.engine.resolve(path);
        let append = self.engine.state.files.contains_key(&path) && self.opened.is_some();
        let stream = match text {
            Value::Text(text) if !text.contains(UNKNOWN) => Stream::known(text + "\n"),
            _ => return,
        };
        if !path.contains(UNKNOWN) {
            self.engine.write_file(path, stream, append);
        }
    }

    /// `.arg("a").args(["b", "c"])`: what is added to a command behind its name.
    fn chained(&self, end: usize) -> Vec<String> {
        let mut words = Vec::new();
        let mut inside = false;
        for token in self.reader.tokens.iter().skip(end).take(96) {
            match token {
                Token::Name(name) if name.starts_with('.') => {
                    inside = matches!(name.as_str(), ".arg" | ".args" | ".Arguments" | ".add");
                    if !inside {
                        break;
                    }
                }
                Token::Sign(';') => break,
                Token::Text(text) if inside => words.push(text.clone()),
                _ => {}
            }
        }
        words
    }

    fn evaluate(&mut self, value: &Value) {
        self.seen.evaluates = true;
        if let Value::Text(text) = value
            && !text.contains(UNKNOWN)
        {
            let taint = if self.reader.decoded { Taint::DECODED } else { Taint::NONE };
            let code = Arg::of(text.clone(), self.span, taint);
            self.engine.run_inner(Inner::Code(self.language, code), self.span);
        }
    }
}

/// `cwd="x"`, `cwd: "x"`: where a program is started.
fn directory(tokens: &[Token]) -> Option<&str> {
    match tokens {
        [Token::Name(name), Token::Sign('=' | ':'), Token::Text(place)] if name == "cwd" => {
            Some(place)
        }
        _ => None,
    }
}

/// Whether an argument says how to open, not what.
fn is_mode(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Text(mode)) if lists("r w rb wb r+ w+", mode))
}
