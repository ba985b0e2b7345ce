//! Redirections: what is read, what is written, and what the files then hold.

use super::engine::Engine;
use super::report::{Deed, Touch};
use super::value::{Arg, Stream, Taint, Value};
use crate::rule::Signal;
use crate::shell::Span;
use crate::shell::tree::{Assign, AssignValue, Redirect, RedirectKind, Script};
use crate::verdict::EffectKind;
use std::rc::Rc;

/// Where the output of a command goes.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    /// Resolved paths, and whether they are appended to.
    pub(crate) files: Vec<(String, bool)>,
    /// Nobody sees the output.
    pub(crate) silent: bool,
}

impl Engine<'_> {
    pub(super) fn redirects(&mut self, script: &Rc<Script>, redirects: &[Redirect]) -> Outlet {
        let mut outlet = Outlet::default();
        for redirect in redirects {
            let span = script.source.span(redirect.target.cut);
            if !self.charge(500, span) {
                break;
            }
            match redirect.kind {
                RedirectKind::HereDocument => {
                    let Some(document) = script.documents.get(redirect.document) else { continue };
                    let body = self.expand_document(script, &document.parts);
                    let stream = Stream { text: Some(body.text), taint: body.taint };
                    self.arrive(redirect.descriptor, stream);
                }
                RedirectKind::HereString => {
                    let word = self.expand_text(script, &redirect.target);
                    let stream = Stream { text: Some(word.text + "\n"), taint: word.taint };
                    self.arrive(redirect.descriptor, stream);
                }
                kind => {
                    let mut args = self.expand_all(script, std::slice::from_ref(&redirect.target));
                    let Some(arg) = args.pop() else { continue };
                    self.redirect_file(kind, redirect.descriptor, &arg, span, &mut outlet);
                }
            }
        }
        outlet
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one redirection")]
    fn redirect_file(
        &mut self,
        kind: RedirectKind,
        descriptor: Option<u32>,
        arg: &Arg,
        span: Span,
        outlet: &mut Outlet,
    ) {
        if arg.text.starts_with("/dev/tcp/") || arg.text.starts_with("/dev/udp/") {
            let host = arg.text.split('/').nth(3).unwrap_or_default().to_owned();
            self.report.effect(EffectKind::Reach, &host, span);
            self.network_redirect(kind, descriptor, span, outlet);
            return;
        }
        if kind == RedirectKind::Duplicate
            && (arg.is("-")
                || arg.text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit())
                || arg.is_unknown())
        {
            let connected = outlet.files.iter().any(|(path, _)| path == "/dev/tcp");
            if connected && descriptor.is_none_or(|number| number == 0) && arg.is("1") {
                self.report.signal(Signal::ReverseShell, span, "/dev/tcp");
            }
            let number = arg.text.parse().ok().filter(|number| *number > 2);
            let open = number.and_then(|number: u32| self.descriptors.get(&number));
            if let Some(path) = open.filter(|_| descriptor.is_none_or(|number| number == 1)) {
                outlet.files.push((path.clone(), true));
            }
            if self.socket && !matches!(arg.text.as_str(), "-" | "0" | "1" | "2") {
                self.stdin = Stream::unknown(Taint::DOWNLOADED);
            } else {
                self.read_descriptor(arg.text.trim_end_matches('-'));
            }
            return;
        }
        let path = self.resolve(&arg.text);
        if kind == RedirectKind::Read || path.starts_with("/dev/fd/in") {
            self.touch_path(Deed::Read, arg, &path);
            self.fifo = Some(path.clone()).filter(|path| self.fifos.contains_key(path));
            let stream = self
                .held(&path)
                .unwrap_or_else(|| Stream::unknown(self.file_taint(&path).with(arg.taint)));
            self.arrive(descriptor, stream);
            return;
        }
        self.touch_path(Deed::Write, arg, &path);
        if let Some(number) = descriptor.filter(|number| *number > 2) {
            self.descriptors.insert(number, path.clone());
        }
        let printed = descriptor.is_none_or(|number| number == 1);
        outlet.silent |= printed && path == "/dev/null";
        if printed && path != "/dev/null" {
            outlet.files.push((path, kind == RedirectKind::Append));
        }
    }

    /// Text that a descriptor is opened on.
    fn arrive(&mut self, descriptor: Option<u32>, stream: Stream) {
        match descriptor {
            Some(number) if number > 0 => {
                self.write_file(format!("/dev/fd/{number}"), stream, false);
            }
            _ => self.stdin = stream,
        }
    }

    fn network_redirect(
        &mut self,
        kind: RedirectKind,
        descriptor: Option<u32>,
        span: Span,
        outlet: &mut Outlet,
    ) {
        use RedirectKind::{Both, Duplicate, Read, ReadWrite};
        if matches!(kind, Read | ReadWrite | Duplicate | Both) {
            self.stdin = Stream::unknown(Taint::DOWNLOADED);
        }
        if descriptor.is_some_and(|number| number > 2) || kind == ReadWrite {
            self.socket = true;
        }
        if kind != Read {
            outlet.files.push(("/dev/tcp".to_owned(), false));
        }
        if matches!(kind, Both | Duplicate) {
            self.report.signal(Signal::ReverseShell, span, "/dev/tcp");
        }
    }

    pub(crate) fn touch_path(&mut self, deed: Deed, arg: &Arg, path: &str) {
        let touch = Touch::new(deed, path, self.elevated, self.facts);
        let leaf = || format!("redirect {}", super::report::shown(&arg.text));
        // Reading by redirection shows nothing by itself; what reads it may.
        if deed == Deed::Write || self.captured || crate::path::is_secret(path, self.facts) {
            self.report.touch(&touch, arg.span, &leaf);
        }
    }

    /// Lets the output of a command arrive where it was sent.
    pub(super) fn settle(&mut self, outlet: &Outlet, stream: Stream) -> Stream {
        if outlet.files.is_empty() && !outlet.silent {
            return stream;
        }
        for (path, append) in &outlet.files {
            if path == "/dev/tcp" {
                self.leak(stream.taint, Span::default());
                continue;
            }
            let copy = self.copied(&stream);
            self.write_file(path.clone(), copy, *append);
        }
        Stream { text: Some(String::new()), taint: Taint::NONE }
    }

    /// Secrets on their way out of the machine.
    pub(super) fn leak(&mut self, taint: Taint, span: Span) {
        if taint.has(Taint::SECRET.with(Taint::ENVIRONMENT)) {
            self.report.signal(Signal::Exfiltration, span, "");
        }
    }

    pub(crate) fn write_file(&mut self, path: String, stream: Stream, append: bool) {
        // Not while it runs: it would only feed itself.
        if let Some((script, steps)) = self.waiting.remove(&path) {
            let outer = std::mem::replace(&mut self.stdin, stream);
            self.substitute(&script, &steps);
            self.stdin = outer;
            self.waiting.insert(path, (script, steps));
            return;
        }
        if self.fifos.get(&path) == Some(&true)
            && let Some(text) = stream.text.clone()
        {
            let code = Arg::new(text, Span::default());
            self.run_shell(code, Span::default());
        }
        match self.state.files.get_mut(&path) {
            Some(old) if append => old.append(stream),
            _ => {
                self.state.files.insert(path, stream);
            }
        }
    }

    /// The value of a variable that is about to be given a new one.
    fn taken(&mut self, name: &str) -> Option<Value> {
        if !self.state.is_top() && !self.charge_value(name) {
            return None;
        }
        self.state.take(name)
    }

    /// Carries out an assignment and returns the value given.
    pub(super) fn assign(&mut self, script: &Rc<Script>, assign: &Assign) -> Arg {
        let mut name = script.source.get(assign.name).to_owned();
        if let Some(value) =
            self.state.get(&name).filter(|value| value.reference && !assign.declared)
        {
            name = value.text.clone();
        }
        let mut value = match &assign.value {
            AssignValue::Word(word) => {
                let arg = self.expand_text(script, word);
                Value { text: arg.text, taint: arg.taint, ..Value::default() }
            }
            AssignValue::Array(words) => {
                let args = self.expand_all(script, words);
                let taint = args.iter().fold(Taint::NONE, |taint, arg| taint.with(arg.taint));
                let items: Vec<String> = args.into_iter().map(|arg| arg.text).collect();
                Value {
                    text: items.first().cloned().unwrap_or_default(),
                    taint,
                    array: Some(items),
                    ..Value::default()
                }
            }
        };
        let changes = assign.append || assign.index.is_some();
        let old = if changes { self.taken(&name) } else { None };
        if let Some(index) = &assign.index {
            let index = self.expand_text(script, index).text;
            let mut array = old.and_then(|old| old.array).unwrap_or_default();
            // A slot far beyond the end is kept by its name, as that of a map.
            let near = 4096.max(array.len().saturating_mul(2));
            let at =
                self.number(&index).and_then(|at| usize::try_from(at).ok()).filter(|at| *at < near);
            if at.is_none() {
                array.push(format!("[{index}]={}", value.text));
            } else if let Some(at) = at {
                let length = array.len().max(at + 1);
                self.charge((length - array.len()).saturating_mul(16), Span::default());
                array.resize(length, String::new());
                if let Some(slot) = array.get_mut(at) {
                    slot.clone_from(&value.text);
                }
            }
            value.array = Some(array);
        } else if assign.append
            && let Some(old) = old
        {
            value.text = if value.array.is_some() { old.text } else { old.text + &value.text };
            value.taint = value.taint.with(old.taint);
            if let (Some(array), Some(mut before)) = (value.array.take(), old.array) {
                before.extend(array);
                value.array = Some(before);
            }
        }
        if value.text.len() > super::engine::VALUE_MAX {
            value = Value::unknown(value.taint);
        }
        let arg = Arg::of(value.text.clone(), script.source.span(assign.name), value.taint);
        self.charge(arg.text.len(), arg.span);
        self.state.set(&name, value);
        arg
    }
}
