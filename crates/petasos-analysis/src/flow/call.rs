//! One command with its arguments: who it is, what it touches, what it runs.

use super::engine::{Engine, NESTING_MAX};
use super::report::{Deed, Touch, render};
use super::spelling::{quote, respelt};
use super::value::{Arg, Stream, Taint, Value};
use crate::code::Language;
use crate::effects;
use crate::facts::Facts;
use crate::own_program;
use crate::program;
use crate::rule::{self, Signal};
use crate::shell::Span;
use crate::shell::normalise::{UNKNOWN, mixes_scripts, plain_spelling};
use crate::shell::tree::{Script, Simple};
use crate::verdict::EffectKind;
use crate::words::lists;
use crate::wrapper::{self, Inner};
use std::rc::Rc;

/// A command as rules see it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent circumstances of a call")]
pub(crate) struct Call<'c> {
    /// Last part of the command name, lower case.
    pub(crate) program: &'c str,
    /// The command name as it was written.
    pub(crate) name: &'c Arg,
    pub(crate) args: &'c [Arg],
    pub(crate) span: Span,
    pub(crate) stdin: &'c Stream,
    pub(crate) elevated: bool,
    pub(crate) bulk: bool,
    pub(crate) narrowed: bool,
    /// The directory the command runs in, when it is known.
    pub(crate) cwd: Option<&'c str>,
    pub(crate) facts: &'c Facts,
}

impl Engine<'_> {
    /// One simple command: expansions, assignments, redirections, then the call.
    pub(super) fn command(&mut self, script: &Rc<Script>, simple: &Simple) -> Stream {
        let span = script.source.span(simple.cut);
        if !self.charge(320, span) {
            return Stream::unknown(Taint::NONE);
        }
        let argv = self.expand_all(script, &simple.words);
        let outer_stdin = (!simple.redirects.is_empty()).then(|| self.copied_stdin());
        let outlet = self.redirects(script, &simple.redirects);
        let last = argv.last().filter(|_| self.recalls).map(|arg| arg.text.clone());
        let stream = if argv.is_empty() || simple.assigns.iter().all(|assign| assign.declared) {
            let scoped = argv
                .first()
                .is_some_and(|arg| matches!(arg.text.as_str(), "local" | "declare" | "typeset"));
            for assign in &simple.assigns {
                if scoped {
                    self.shade_one(script.source.get(assign.name));
                }
                let value = self.assign(script, assign);
                self.assigned(script.source.get(assign.name), &value, span);
                if argv.get(1).is_some_and(|flag| flag.text.starts_with("-n")) {
                    self.state.refer(script.source.get(assign.name));
                }
            }
            if argv.is_empty() {
                self.only_redirected(simple)
            } else {
                self.captured_dispatch(&argv, span, &outlet, &[])
            }
        } else {
            self.prefixed(script, simple, &argv, &outlet)
        };
        if let Some(stdin) = outer_stdin {
            self.stdin = stdin;
        }
        if let Some(last) = last {
            self.state.set("_", Value::known(last));
        }
        self.track_printed(&argv, &outlet);
        self.settle(&outlet, stream)
    }

    fn captured_dispatch(
        &mut self,
        argv: &[Arg],
        span: Span,
        outlet: &super::redirect::Outlet,
        assigns: &[(String, Arg)],
    ) -> Stream {
        let captured = self.captured;
        self.captured |= !outlet.files.is_empty();
        let stream = self.dispatch(argv, span, assigns);
        self.captured = captured;
        stream
    }

    /// `A=1 cmd`: the assignments hold for that command only.
    fn prefixed(
        &mut self,
        script: &Rc<Script>,
        simple: &Simple,
        argv: &[Arg],
        outlet: &super::redirect::Outlet,
    ) -> Stream {
        let span = script.source.span(simple.cut);
        let mut assigns = Vec::new();
        let mut saved = Vec::new();
        for assign in &simple.assigns {
            let name = script.source.get(assign.name).to_owned();
            saved.push((name.clone(), self.state.get(&name).cloned()));
            let value = self.assign(script, assign);
            assigns.push((name, value));
        }
        let stream = self.captured_dispatch(argv, span, outlet, &assigns);
        for (name, old) in saved.into_iter().rev() {
            self.state.restore(&name, old);
        }
        stream
    }

    /// Looks at one command, and through it.
    pub(crate) fn dispatch(
        &mut self,
        argv: &[Arg],
        span: Span,
        assigns: &[(String, Arg)],
    ) -> Stream {
        let Some(first) = argv.first() else { return Stream::empty() };
        if !self.charge(argv.len() * 80, span) {
            return Stream::unknown(Taint::NONE);
        }
        if self.nesting >= NESTING_MAX || self.via.len() >= NESTING_MAX as usize {
            self.report.signal(Signal::Limit, span, render(argv));
            return Stream::unknown(Taint::NONE);
        }
        let foreign = Taint::DECODED.with(Taint::DOWNLOADED);
        if first.taint.has(foreign) && !first.is_unknown() && !first.text.contains('/') {
            self.signal_code(first.taint.without(Taint::OPAQUE), span, argv);
        }
        if self.hides(first) {
            self.report.signal(Signal::HiddenName, first.span, render(argv));
        }
        if argv.iter().any(|arg| !arg.text.is_ascii())
            && let Some(plain) = respelt(argv)
        {
            return self.dispatch_plain(&plain, span, assigns);
        }
        if let Some(first) = self.under_first_name(argv) {
            return self.dispatch_plain(&first, span, assigns);
        }
        self.dispatch_plain(argv, span, assigns)
    }

    /// Whether a command name has characters that a reader would not see as they are.
    fn hides(&self, first: &Arg) -> bool {
        let text = first.text.as_str();
        let odd = |text: &str| {
            text.chars().any(|letter| letter.is_control() && !matches!(letter, '\n' | '\t'))
        };
        if !text.is_ascii()
            && !first.is_unknown()
            && (plain_spelling(text).is_some() || mixes_scripts(text))
        {
            return true;
        }
        let around = Span { start: first.span.start, end: first.span.end.saturating_add(1) };
        let shown = around.of(self.original).or_else(|| first.span.of(self.original));
        odd(text) || self.dirty && shown.is_some_and(odd)
    }

    fn dispatch_plain(&mut self, argv: &[Arg], span: Span, assigns: &[(String, Arg)]) -> Stream {
        let Some((first, args)) = argv.split_first() else { return Stream::empty() };
        if first.text.is_empty() && args.is_empty() {
            return Stream::empty();
        }
        if first.text.is_empty() {
            // `$empty rm -rf x` runs what follows.
            return self.dispatch(args, span, assigns);
        }
        let external = std::mem::take(&mut self.external);
        if let Some(function) = self.state.function(&first.text).filter(|_| !external) {
            let name = first.text.clone();
            return self.call_function(&name, &function, args.to_vec(), span);
        }
        if let Some(text) = self.state.alias(&first.text)
            && !external
            && !self.running.iter().any(|name| name.as_ref() == first.text)
        {
            return self.run_alias(&text, argv, span);
        }
        let base = first.text.rsplit(['/', '\\']).next().unwrap_or_default();
        // `/proc/4711/exe` is whatever runs there.
        let image = base == "exe" && first.text.starts_with("/proc/");
        if base.contains(UNKNOWN) || image {
            return self.unknown_program(argv, base, span, assigns);
        }
        if first.glob && first.text.len() > 1 && first.text != "[" {
            return self.globbed_program(argv, base, span);
        }
        let lower;
        // A module of zsh has them under names of its own.
        let base = base.strip_suffix(".exe").unwrap_or(base);
        let base = base.strip_prefix("zf_").unwrap_or(base);
        // Whoever fetches programs may name a version: `rimraf@5`.
        let base =
            base.split_once('@').map_or(base, |it| if it.0.is_empty() { base } else { it.0 });
        let program = if base.bytes().any(|byte| byte.is_ascii_uppercase()) {
            lower = base.to_ascii_lowercase();
            lower.as_str()
        } else {
            base
        };
        // `uv run x.py`: a file of this line that a runner starts by its name.
        if base.ends_with(".py") && self.state.files.contains_key(&self.resolve(base)) {
            let code = Inner::File(Language::Python, first.clone(), args.to_vec());
            return self.run_inner(code, span);
        }
        if let Some(argv) = self.found_on_path(argv) {
            return self.run_call(program, &argv, span, assigns);
        }
        if let Some(argv) = super::guess::start_script(first, args) {
            return self.run_call("service", &argv, span, assigns);
        }
        self.follow_evaluated(program, args, span);
        if let Some(stream) = self.builtin(program, argv, span) {
            return stream;
        }
        self.run_call(program, argv, span, assigns)
    }

    fn run_call(
        &mut self,
        program: &str,
        argv: &[Arg],
        span: Span,
        assigns: &[(String, Arg)],
    ) -> Stream {
        let Some((first, args)) = argv.split_first() else { return Stream::empty() };
        let cwd = self.state.cwd.clone();
        self.report.cwd.clone_from(&cwd);
        self.report.leaf(argv, &self.via, span);
        self.report.effect(EffectKind::Run, &first.text, first.span);
        self.carry(program, assigns, span);
        let mut stdin = std::mem::take(&mut self.stdin);
        if matches!(program, "xargs" | "gxargs" | "parallel")
            && let Some(listed) = self.listed_in_file(args)
        {
            stdin = listed;
        }
        // So many words are looked at by each rule for this program.
        self.charge(args.len().saturating_sub(64) * 60, span);
        let call = Call {
            program,
            name: first,
            args,
            span,
            stdin: &stdin,
            elevated: self.elevated,
            bulk: self.bulk,
            narrowed: self.narrowed,
            cwd: cwd.as_deref(),
            facts: self.facts,
        };
        if super::rehearsal::is(&call) && !self.is_written(&first.text) && !self.forces(&call) {
            let taint = stdin.taint;
            self.stdin = stdin;
            return Stream::unknown(Taint::PROGRAM.with(taint));
        }
        let help = call.asks_help();
        let before = self.report.analysis.findings.len();
        if !help {
            self.ask_rules(&call, argv);
        }
        let unwrapped = wrapper::unwrap(&call);
        let wraps = unwrapped.as_ref().is_some_and(|inners| !inners.list.is_empty());
        let passed = wraps && unwrapped.as_ref().is_some_and(passes_on);
        self.stdin = self.copied(&stdin);
        self.track(&call, &stdin);
        self.trigger(&call);
        let mut output = match &unwrapped {
            Some(inners) if inners.opaque && !inners.list.is_empty() => Stream::empty(),
            _ if first.text.contains('/') => self.run_path(&call),
            _ => self.output(&call),
        };
        if unwrapped.is_none() && !help {
            self.follow_unknown(&call);
        }
        if let Some(inners) = unwrapped {
            let inner_output = self.run_inners(inners, span);
            output.append(inner_output);
        }
        if !help && !passed && self.report.analysis.findings.len() == before {
            self.follow_text(&call);
        }
        let writes = lists("time gtime strace ltrace perf valgrind rlwrap make gmake", program);
        if !help && (!wraps || writes) && self.report.analysis.findings.len() == before {
            self.follow_roles(&call);
        }
        output
    }

    /// Whether a makefile of this line runs something even where nothing is to be made.
    fn forces(&self, call: &Call<'_>) -> bool {
        let forced = |text: &String| {
            ["\t+", "$(shell", "$(MAKE)", "!="].iter().any(|mark| text.contains(mark))
        };
        call.program.ends_with("make")
            && self.state.files.values().any(|file| file.text.as_ref().is_some_and(forced))
    }

    /// Asks the rules about a call and about every path it touches.
    fn ask_rules(&mut self, call: &Call<'_>, argv: &[Arg]) {
        if own_program::NAMES.contains(&call.program) && self.has_other_home() {
            self.report.signal(Signal::OwnPolicy, call.span, render(argv));
        }
        for (rule, check) in rule::on_call(call.program) {
            if check(call) {
                self.report.raise(rule, call.span, render(argv));
            }
        }
        for signal in program::acts(call) {
            if signal != Signal::SecretRead || !self.captured {
                self.report.signal(signal, call.span, render(argv));
            }
        }
        for host in effects::hosts(call) {
            self.report.effect(EffectKind::Reach, &host, call.span);
        }
        for touch in effects::of(call) {
            self.touch(touch.deed, &touch.path, call);
        }
    }

    /// Whether the line itself names another home for our own program.
    fn has_other_home(&self) -> bool {
        ["PETASOS_HOME", "HERMES_HOME", "PETASOS_PROFILE", "HERMES_PROFILE"]
            .iter()
            .any(|name| self.state.get(name).is_some_and(|value| !value.text.is_empty()))
    }

    /// The items that `xargs -a FILE` and `parallel :::: FILE` read.
    fn listed_in_file(&mut self, args: &[Arg]) -> Option<Stream> {
        let at =
            args.iter().position(|arg| matches!(arg.text.as_str(), "-a" | "--arg-file" | "::::"));
        let attached = args.iter().find_map(|arg| arg.text.strip_prefix("--arg-file="));
        let file = attached.or(at.and_then(|at| args.get(at + 1)).map(|arg| arg.text.as_str()))?;
        let path = self.resolve(file);
        Some(self.held(&path).unwrap_or_else(|| Stream::unknown(self.file_taint(&path))))
    }

    /// Runs what a wrapper hands on, with what it changes for it.
    fn run_inners(&mut self, inners: wrapper::Inners, span: Span) -> Stream {
        let saved = (self.elevated, self.bulk, self.narrowed, self.state.cwd.clone());
        self.elevated |= inners.elevated;
        self.bulk |= inners.bulk;
        self.narrowed |= inners.narrowed;
        if inners.elsewhere {
            self.state.cwd = None;
        }
        if let Some(place) = &inners.cwd {
            self.state.cwd = Some(self.resolve(&place.text)).filter(|path| path.starts_with('/'));
        }
        if inners.excess {
            self.report.signal(Signal::Limit, span, inners.name);
        }
        self.report.softened += u32::from(inners.throwaway);
        self.via.push(inners.name);
        let mark = (!inners.assigns.is_empty()).then(|| self.state.enter());
        for (name, value) in inners.assigns {
            self.assigned(&name, &value, span);
            let value = Value { text: value.text, taint: value.taint, ..Value::default() };
            self.state.set(&name, value);
        }
        let outer =
            (!inners.args.is_empty()).then(|| self.state.positional.replace(Rc::new(inners.args)));
        let mut output = Stream::empty();
        let runs = !inners.list.is_empty();
        for inner in inners.list {
            let size = match &inner {
                Inner::Argv(argv) => argv.len() * 100,
                Inner::Shell(code, args) => code.text.len() * 40 + args.len() * 80,
                _ => 100,
            };
            if !self.charge(size + 300, span) {
                break;
            }
            output.append(self.run_inner(inner, span));
        }
        if let Some(outer) = outer {
            self.state.positional = outer;
        }
        if let Some(mark) = mark {
            self.state.leave(mark);
        }
        self.via.pop();
        let remote = matches!(inners.name, "ssh" | "slogin" | "rsh" | "mosh");
        if inners.elsewhere && runs {
            let origin = if remote { Taint::DOWNLOADED } else { Taint::PROGRAM };
            output.taint = output.taint.with(origin);
        }
        self.report.softened -= u32::from(inners.throwaway);
        (self.elevated, self.bulk, self.narrowed, self.state.cwd) = saved;
        output
    }

    pub(crate) fn touch(&mut self, deed: Deed, arg: &Arg, call: &Call<'_>) {
        if !self.charge(800, call.span) {
            return;
        }
        let path = match deed {
            Deed::Delete { .. } if arg.taint.has(Taint::TILDE) => {
                self.resolve(&format!("./{}", arg.text))
            }
            Deed::Delete { .. } => self.resolve_entry(&arg.text),
            _ => self.resolve(&arg.text),
        };
        let touch = Touch::new(spread(deed, arg), &path, call.elevated, self.facts);
        let leaf = || {
            let mut argv = vec![call.name.clone()];
            argv.extend(call.args.iter().take(16).cloned());
            render(&argv)
        };
        let span = if arg.span == Span::default() { call.span } else { arg.span };
        self.report.touch(&touch, span, &leaf);
    }

    fn run_alias(&mut self, text: &str, argv: &[Arg], span: Span) -> Stream {
        let Some((first, args)) = argv.split_first() else { return Stream::empty() };
        let mut whole = text.to_owned();
        for arg in args {
            whole.push(' ');
            whole.push_str(&quote(&arg.text));
        }
        self.running.push(first.text.as_str().into());
        let stream = self.run_shell(Arg::new(whole, span), span);
        self.running.pop();
        stream
    }

    /// Reports code of doubtful origin that is about to run.
    pub(crate) fn signal_code(&mut self, taint: Taint, span: Span, argv: &[Arg]) {
        if taint.has(Taint::DOWNLOADED) {
            self.report.signal(Signal::RemoteCode, span, render(argv));
        }
        if taint.has(Taint::DECODED) {
            self.report.signal(Signal::DecodedCode, span, render(argv));
        }
        if taint.has(Taint::OPAQUE) && !taint.has(Taint::DOWNLOADED.with(Taint::DECODED)) {
            self.report.signal(Signal::OpaqueCode, span, render(argv));
        }
    }
}

/// Whether a command is handed on word by word, so that it is looked at by itself.
fn passes_on(inners: &wrapper::Inners) -> bool {
    inners.list.iter().all(|inner| matches!(inner, Inner::Argv(_)))
}

/// What is done to `arg` itself: only what a search found is narrowed by its tests.
fn spread(deed: Deed, arg: &Arg) -> Deed {
    match deed {
        Deed::Delete { recursive, bulk, narrowed } => {
            Deed::Delete { recursive, bulk, narrowed: narrowed && arg.taint.has(Taint::LISTING) }
        }
        other => other,
    }
}
