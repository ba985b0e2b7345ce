//! Commands the shell carries out itself, and the running of code that commands
//! are handed: `eval`, `source`, what `sh -c` was given.

use super::engine::Engine;
use super::report::render;
use super::value::{Arg, Stream, Taint, Value};
use crate::code::Language;
use crate::rule::Signal;
use crate::shell::normalise::UNKNOWN;
use crate::shell::{Source, Span};
use crate::words::{begins, lists};
use crate::wrapper::Inner;
use std::rc::Rc;

/// The longest path of a directory that is remembered.
const PATH_MAX: usize = 4096;

impl Engine<'_> {
    /// Carries out a builtin; `None` when `name` is not one that matters.
    pub(super) fn builtin(&mut self, name: &str, argv: &[Arg], span: Span) -> Option<Stream> {
        let args = argv.get(1..).unwrap_or_default();
        match name {
            "cd" | "pushd" | "chdir" => self.change_directory(args),
            "export" | "declare" | "local" | "typeset" | "readonly" => {
                self.declare(name, args, span);
                if args.iter().all(|arg| arg.text.starts_with('-')) {
                    return Some(Stream::unknown(Taint::ENVIRONMENT));
                }
            }
            "unset" => self.unset_all(args, span),
            "read" => self.read(args),
            "mapfile" | "readarray" => self.read_lines(args),
            "set" if args.is_empty() => return Some(Stream::unknown(Taint::ENVIRONMENT)),
            "set" => {
                if matches!(args, [flag, word, ..] if flag.is("+o") && word.is("history")) {
                    self.report.signal(Signal::SecurityOff, span, "set +o history");
                }
                self.set_positional(args);
            }
            "shift" => {
                let count = args.first().and_then(|arg| self.number(&arg.text)).unwrap_or(1);
                self.shift_positional(usize::try_from(count).unwrap_or(1));
            }
            "getopts" => self.options_of(args),
            "shopt" => {
                if args.iter().any(|arg| arg.is("lastpipe")) {
                    self.state.lastpipe = args.iter().any(|arg| arg.is("-s"));
                }
            }
            "alias" => {
                for arg in args {
                    if let Some((name, text)) = arg.text.split_once('=') {
                        self.state.set_alias(name, text.to_owned());
                    }
                }
            }
            "let" => {
                for arg in args {
                    self.arithmetic_assign(&arg.text);
                }
            }
            "printf" if args.first().is_some_and(|arg| arg.is("-v")) => {
                if let [_, target, format, rest @ ..] = args {
                    let text = super::printf::format(&format.text, rest);
                    self.state.set(&target.text, Value::known(text));
                }
            }
            "eval" => return Some(self.evaluate_words(args, span)),
            "source" | "." => {
                let inner = Inner::File(
                    Language::Shell,
                    args.first()?.clone(),
                    args.get(1..).unwrap_or_default().to_vec(),
                );
                // What it sets stays set, as with `eval`.
                self.via.push("eval");
                let stream = self.run_inner(inner, span);
                self.via.pop();
                return Some(stream);
            }
            "trap" => return self.trap(args, span),
            _ => return None,
        }
        Some(Stream::empty())
    }

    fn trap(&mut self, args: &[Arg], span: Span) -> Option<Stream> {
        let mut words = args.iter().skip_while(|arg| arg.is("--"));
        let code = words.next().filter(|arg| !arg.text.starts_with('-'))?;
        words.next()?;
        self.traps.push(code.clone());
        Some(self.run_shell(code.clone(), span))
    }

    fn evaluate_words(&mut self, args: &[Arg], span: Span) -> Stream {
        let taint = args.iter().fold(Taint::NONE, |taint, arg| taint.with(arg.taint));
        let words: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
        let code = Arg { text: words.join(" "), span: joined(args, span), glob: false, taint };
        self.via.push("eval");
        let stream = self.run_code(Language::Shell, code, Vec::new(), span);
        self.via.pop();
        stream
    }

    fn change_directory(&mut self, args: &[Arg]) {
        let target = args.iter().find(|arg| !arg.text.starts_with('-') || arg.is("-"));
        if let Some(target) = target.filter(|_| !self.clones.is_empty()) {
            let path = self.resolve(&target.text);
            self.moved_into_clone |= self.clones.contains(&path);
        }
        self.state.cwd = match target {
            None => Some(self.home()),
            Some(arg) if arg.is("-") => None,
            Some(arg) if arg.is_unknown() => None,
            Some(arg) => {
                let path = self.resolve(&arg.text);
                // No system has a longer one.
                (path.starts_with('/') && path.len() <= PATH_MAX).then_some(path)
            }
        };
    }

    fn declare(&mut self, verb: &str, args: &[Arg], span: Span) {
        let scoped = matches!(verb, "declare" | "typeset" | "local");
        if scoped {
            self.shade(args);
        }
        for arg in args {
            if let Some((name, text)) = arg.text.split_once('=') {
                let value = Value { text: text.to_owned(), taint: arg.taint, ..Value::default() };
                self.state.set(name, value);
                let value = arg.with_text(text);
                self.assigned(name, &value, span);
            }
        }
        let refers = |arg: &Arg| scoped && arg.text.starts_with('-') && arg.text.contains('n');
        if args.iter().any(refers) {
            for arg in args {
                self.state.refer(arg.text.split('=').next().unwrap_or_default());
            }
        }
    }

    fn read(&mut self, args: &[Arg]) {
        let mut names: Vec<&Arg> = Vec::new();
        let mut array = false;
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            if arg.is("-u")
                && let Some(number) = rest.next()
            {
                self.read_descriptor(&number.text);
            } else if arg.text.starts_with('-') && lists("-p -t -n -N -d -i", &arg.text) {
                rest.next();
            } else if arg.text.starts_with('-') && arg.text.contains('a') {
                array = true;
            } else if !arg.text.starts_with('-') {
                names.push(arg);
            }
        }
        let line = self.stdin.text.as_mut().map(|text| {
            let end = text.find('\n').map_or(text.len(), |at| at + 1);
            let rest = text.split_off(end);
            std::mem::replace(text, rest).trim_end_matches('\n').to_owned()
        });
        // The rest moves up.
        self.charge(self.stdin.text.as_ref().map_or(0, |text| text.len() / 8), Span::default());
        let mut taint = self.stdin.taint;
        if self.looping > 0 && line.is_none() && taint != Taint::NONE {
            // Names that come line by line are a list, whoever wrote it.
            taint = taint.with(Taint::LISTING);
        }
        let separators = self.separators();
        if let (true, Some(name)) = (array, names.first()) {
            let parts = |line: String| {
                let words = line.split(|letter| separators.contains(letter));
                words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
            };
            let items = line.map(parts);
            self.state.set(&name.text, Value { array: items, ..Value::unknown(taint) });
            return;
        }
        let last = names.len().saturating_sub(1);
        let mut rest = line.clone().unwrap_or_default();
        for (position, name) in names.iter().enumerate() {
            let text = match &line {
                None => UNKNOWN.to_string(),
                Some(_) if position == last => rest.trim().to_owned(),
                Some(_) => {
                    let trimmed = rest.trim_start().to_owned();
                    let (word, tail) = trimmed
                        .split_once(|letter| separators.contains(letter))
                        .unwrap_or((trimmed.as_str(), ""));
                    let word = word.to_owned();
                    tail.clone_into(&mut rest);
                    word
                }
            };
            self.state.set(&name.text, Value { text, taint, ..Value::default() });
        }
    }

    /// Takes the text of another descriptor for standard input.
    pub(super) fn read_descriptor(&mut self, number: &str) {
        if let Some(stream) = self.held(&format!("/dev/fd/{number}")) {
            self.stdin = stream;
        }
    }

    fn read_lines(&mut self, args: &[Arg]) {
        if let Some(at) = args.iter().position(|arg| arg.is("-u"))
            && let Some(number) = args.get(at + 1)
        {
            self.read_descriptor(&number.text);
        }
        if let Some(arg) = args.iter().rfind(|arg| !arg.text.starts_with('-')) {
            let items: Option<Vec<String>> =
                self.stdin.text.as_ref().map(|text| text.lines().map(str::to_owned).collect());
            let value = Value { array: items, ..Value::unknown(self.stdin.taint) };
            self.state.set(&arg.text, value);
        }
    }

    /// `getopts`: the value it finds is one of the words it looks at.
    fn options_of(&mut self, args: &[Arg]) {
        let Some((_, rest)) = args.split_first() else { return };
        let Some((name, words)) = rest.split_first() else { return };
        let given = match &self.state.positional {
            Some(positional) if words.is_empty() => positional.as_ref().clone(),
            _ => words.to_vec(),
        };
        let mut value = Value::unknown(Taint::NONE);
        if let Some(word) = given.iter().rfind(|word| !word.text.starts_with('-')) {
            value = Value { text: word.text.clone(), taint: word.taint, ..Value::default() };
        }
        self.state.set("OPTARG", value);
        let letter = given.iter().find_map(|word| word.text.strip_prefix('-'));
        let letter = letter.map_or(Value::unknown(Taint::NONE), Value::known);
        self.state.set(&name.text, letter);
    }

    fn shift_positional(&mut self, count: usize) {
        if let Some(args) = self.state.positional.clone()
            && self.charge(args.len() * 64, Span::default())
        {
            self.state.positional = Some(Rc::new(args.get(count..).unwrap_or_default().to_vec()));
        }
    }

    fn set_positional(&mut self, args: &[Arg]) {
        let start = match args.first() {
            Some(arg) if arg.is("--") => 1,
            Some(arg) if !arg.text.starts_with('-') && !arg.text.starts_with('+') => 0,
            _ => return,
        };
        self.state.positional = Some(Rc::new(args.get(start..).unwrap_or_default().to_vec()));
    }

    /// Runs what a wrapper or builtin was handed.
    pub(crate) fn run_inner(&mut self, inner: Inner, span: Span) -> Stream {
        match inner {
            Inner::Argv(argv) => {
                // Who starts a program knows nothing of functions and aliases.
                self.external = !matches!(self.via.last(), Some(&("noglob" | "nocorrect")));
                let stream = self.dispatch(&argv, span, &[]);
                self.external = false;
                stream
            }
            Inner::Shell(code, args) => self.run_code(Language::Shell, code, args, span),
            Inner::Code(language, code) => {
                let picks = language != Language::Awk || super::printed::picks_records(&code.text);
                let mut stream = self.run_code(language, code, Vec::new(), span);
                stream.taint = stream.taint.with(self.stdin.taint);
                if picks {
                    stream.taint = stream.taint.without(Taint::EVERY_PROCESS);
                }
                stream
            }
            Inner::Stdin(language, args) => self.run_stdin(language, args, span),
            Inner::File(language, file, args) => self.run_file(language, &file, args, span),
        }
    }

    /// Runs text of a shell that is given no arguments.
    pub(crate) fn run_shell(&mut self, code: Arg, span: Span) -> Stream {
        self.run_code(Language::Shell, code, Vec::new(), span)
    }

    fn run_stdin(&mut self, language: Language, args: Vec<Arg>, span: Span) -> Stream {
        let stdin = self.copied_stdin();
        match stdin.text {
            Some(text) => {
                let mut taint = stdin.taint;
                if is_mixed(&text) {
                    self.doubt_stdin(taint, span);
                    taint = taint.without(Taint::OPAQUE);
                }
                let code = Arg::of(text, span, taint);
                let outer = std::mem::replace(&mut self.stdin, Stream::empty());
                let stream = self.run_code(language, code, args, span);
                self.stdin = outer;
                stream
            }
            None => {
                if let Some(fifo) = self.fifo.take().filter(|_| language == Language::Shell) {
                    self.fifos.insert(fifo, true);
                }
                self.doubt_stdin(stdin.taint, span);
                Stream::unknown(Taint::PROGRAM.with(Taint::SHELL))
            }
        }
    }

    /// Says where code comes from that arrives unseen.
    fn doubt_stdin(&mut self, taint: Taint, span: Span) {
        let argv = [Arg::new("stdin", span)];
        self.signal_code(taint.without(Taint::OPAQUE), span, &argv);
        if taint.has(Taint::PROGRAM.with(Taint::LISTING).with(Taint::REWRITTEN))
            && !taint.has(Taint::DOWNLOADED.with(Taint::DECODED))
        {
            self.report.signal(Signal::OpaqueCode, span, "stdin");
        }
    }

    fn run_file(&mut self, language: Language, file: &Arg, args: Vec<Arg>, span: Span) -> Stream {
        if matches!(file.text.as_str(), "/dev/stdin" | "-" | "/proc/self/fd/0" | "/dev/fd/0") {
            return self.run_stdin(language, args, span);
        }
        if begins("http:// https://", &file.text) {
            self.report.signal(Signal::RemoteCode, span, render(std::slice::from_ref(file)));
        }
        let path = self.resolve(&file.text).replace("/proc/self/fd/", "/dev/fd/");
        let Some(stream) = self.held(&path) else {
            self.run_foreign(Some(language), &path, &args, span);
            if language == Language::Make && !file.taint.has(Taint::DOWNLOADED) {
                return Stream::unknown(Taint::PROGRAM);
            }
            if self.unpacked && !file.is_unknown() || self.is_cloned_script(&path) {
                self.report.signal(Signal::RemoteCode, span, render(std::slice::from_ref(file)));
            }
            self.signal_code(file.taint.without(Taint::OPAQUE), span, std::slice::from_ref(file));
            if file.is_unknown() && language == Language::Shell {
                self.signal_code(self.doubt, span, std::slice::from_ref(file));
            }
            return Stream::unknown(Taint::PROGRAM);
        };
        match stream.text {
            Some(text) => {
                let doubt = if is_mixed(&text) { Taint::OPAQUE } else { Taint::NONE };
                let taint = stream.taint.without(doubt);
                let code = Arg::of(text, file.span, taint);
                self.run_in_folder(&path, |engine| engine.run_code(language, code, args, span))
            }
            None => {
                self.signal_code(
                    stream.taint.without(Taint::OPAQUE),
                    span,
                    std::slice::from_ref(file),
                );
                let unread = path.starts_with("/dev/fd/") || stream.taint.has(Taint::REWRITTEN);
                if language == Language::Shell && unread {
                    self.doubt_stdin(stream.taint, span);
                }
                Stream::unknown(Taint::PROGRAM)
            }
        }
    }

    /// Judges code by what it visibly does.
    pub(crate) fn run_code(
        &mut self,
        language: Language,
        code: Arg,
        args: Vec<Arg>,
        span: Span,
    ) -> Stream {
        let taint = if code.is_unknown() { code.taint.with(self.doubt) } else { code.taint };
        // The commands that can be read are followed; what is doubtful is so where it stands.
        let readable = language == Language::Shell && code.is_unknown() && is_visible(&code.text);
        let told = if readable { taint.without(Taint::OPAQUE) } else { taint };
        self.signal_code(told, span, std::slice::from_ref(&code));
        if !readable || !taint.has(Taint::OPAQUE) {
            return self.run_known(language, code, args, span);
        }
        let outer = std::mem::replace(&mut self.doubt, Taint::OPAQUE);
        let stream = self.run_known(language, code, args, span);
        self.doubt = outer;
        stream
    }

    /// Follows code whose origin has been looked at.
    fn run_known(&mut self, language: Language, code: Arg, args: Vec<Arg>, span: Span) -> Stream {
        if language == Language::Make {
            for inner in crate::wrappers::make_rules(&code, &args) {
                self.run_inner(inner, span);
            }
            return Stream::unknown(Taint::PROGRAM);
        }
        if language == Language::Tcl {
            for inner in crate::wrappers::tcl_commands(&code) {
                self.run_inner(inner, span);
            }
        }
        if language != Language::Shell {
            self.run_imports(language, &code.text, span);
            let given = (!args.is_empty()).then(|| Rc::new(args));
            let outer = self.state.positional.clone();
            self.state.positional = given.or_else(|| outer.clone());
            let stream = self.run_program_text(language, &code);
            self.state.positional = outer;
            return stream;
        }
        let outer = self.state.positional.clone();
        if !args.is_empty() || code.text.contains("$1") {
            self.state.positional = Some(Rc::new(args));
        }
        let mark = self.state.enter();
        let source = match code.span.of(self.original) {
            Some(text) if text == code.text => Source::shifted(code.text, code.span.start),
            Some(text)
                if text.len() == code.text.len() + 2
                    && text.get(1..text.len() - 1) == Some(code.text.as_str()) =>
            {
                Source::shifted(code.text, code.span.start + 1)
            }
            _ => Source::within(code.text, code.span),
        };
        let stream = self.run_text(source);
        if self.via.last() == Some(&"eval") {
            self.state.keep(&mark);
        } else {
            self.state.leave(mark);
        }
        self.state.positional = outer;
        stream
    }
}

/// Whether whole lines of a text are not known.
fn is_mixed(text: &str) -> bool {
    text.contains(UNKNOWN) && text.lines().any(|line| line.chars().eq([UNKNOWN]))
}

/// Whether there is anything to read in code besides what is not known.
fn is_visible(text: &str) -> bool {
    text.chars().any(|letter| letter != UNKNOWN && letter.is_alphanumeric())
}

fn joined(args: &[Arg], span: Span) -> Span {
    match (args.first(), args.last()) {
        (Some(first), Some(last)) => {
            Span { start: first.span.start, end: last.span.end.max(first.span.end) }
        }
        _ => span,
    }
}
