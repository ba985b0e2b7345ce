//! Functions that are called, the variables that they have for themselves, and variables that are
//! taken away.

use super::engine::{Engine, NESTING_MAX};
use super::state::Function;
use super::value::{Arg, Stream, Taint, Value};
use crate::rule::Signal;
use crate::shell::Span;
use crate::shell::normalise::UNKNOWN;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a function has made its own.
#[derive(Debug, Default)]
pub(crate) struct Locals {
    /// The scopes and conditions around its body.
    pub(crate) depth: u32,
    pub(crate) conditional: u32,
    /// Each variable as it was, and whether it is certain that the function has its own.
    pub(crate) before: BTreeMap<String, (Option<Value>, bool)>,
}

impl Engine<'_> {
    /// Runs a function body; a function that starts copies of itself is a bomb.
    pub(crate) fn call_function(
        &mut self,
        name: &str,
        function: &Function,
        args: Vec<Arg>,
        span: Span,
    ) -> Stream {
        if self.running.iter().any(|running| running.as_ref() == name) {
            if self.forked > 0 {
                self.report.signal(Signal::ForkBomb, span, name);
            }
            return Stream::unknown(Taint::NONE);
        }
        if self.nesting >= NESTING_MAX {
            self.report.signal(Signal::Limit, span, name);
            return Stream::unknown(Taint::NONE);
        }
        if !self.charge(args.len() * 8 + 100, span) {
            return Stream::unknown(Taint::NONE);
        }
        let outer = self.state.positional.replace(Rc::new(args));
        let forked = self.forked;
        if self.running.is_empty() {
            self.forked = 0;
        }
        self.nesting += 1;
        self.running.push(name.into());
        let depth = self.state.depth();
        self.locals.push(Locals { depth, conditional: self.conditional, ..Locals::default() });
        let stream = self.steps(&Rc::clone(&function.script), &Rc::clone(&function.body));
        let frame = self.locals.pop().unwrap_or_default();
        self.unshade(frame);
        self.running.pop();
        self.nesting -= 1;
        self.forked = forked;
        self.state.positional = outer;
        stream
    }

    /// Keeps what variables were before a function made them its own.
    pub(super) fn shade(&mut self, args: &[Arg]) {
        let global = |arg: &Arg| arg.text.starts_with('-') && arg.text.contains('g');
        if self.locals.is_empty() || args.iter().any(global) {
            return;
        }
        for arg in args.iter().filter(|arg| !arg.text.starts_with('-')) {
            self.shade_one(arg.text.split('=').next().unwrap_or_default());
        }
    }

    /// Keeps one variable, the first time that its function declares it.
    pub(super) fn shade_one(&mut self, name: &str) {
        let certain = self.state.depth();
        let Some(frame) = self.locals.last() else { return };
        let is_certain = frame.depth == certain && self.conditional == frame.conditional;
        if frame.before.contains_key(name) || !self.charge_value(name) {
            return;
        }
        let old = self.state.get(name).cloned();
        if let Some(frame) = self.locals.last_mut() {
            frame.before.insert(name.to_owned(), (old, is_certain));
        }
    }

    /// Gives back what the variables of a function were before it; where it is not certain
    /// that it had its own, either value may be there.
    pub(super) fn unshade(&mut self, frame: Locals) {
        for (name, (old, is_certain)) in frame.before {
            let now = self.state.get(&name).map(|value| value.text.clone());
            let mut value = old.unwrap_or_else(|| Value::unknown(Taint::NONE));
            match now.filter(|now| !is_certain && *now != value.text) {
                Some(now) => {
                    value.others.push(now);
                    self.state.set(&name, value);
                }
                None if value.text.chars().eq([UNKNOWN]) => self.state.restore(&name, None),
                None => self.state.set(&name, value),
            }
        }
    }

    /// Pays for a copy of a variable.
    pub(super) fn charge_value(&mut self, name: &str) -> bool {
        let size = self.state.get(name).map_or(0, |value| {
            value.text.len() + value.array.as_ref().map_or(0, |array| array.len() * 32)
        });
        self.charge(size + 50, Span::default())
    }

    /// `unset -f` takes functions, `-v` variables, without either whatever there is.
    pub(super) fn unset_all(&mut self, args: &[Arg], span: Span) {
        let flag = |letter: &str| args.iter().any(|arg| arg.is(letter));
        let (functions, variables) = (flag("-f"), flag("-v"));
        for arg in args.iter().filter(|arg| !arg.text.starts_with('-')) {
            if functions {
                self.state.set_function(&arg.text, None);
            } else if !variables || self.state.get(&arg.text).is_some() {
                self.unset(&arg.text, span);
            }
        }
    }

    /// One variable, or one slot of an array.
    pub(super) fn unset(&mut self, name: &str, span: Span) {
        if !self.charge_value(name.split('[').next().unwrap_or_default()) {
            return;
        }
        if name == "HISTFILE" {
            self.report.signal(Signal::SecurityOff, span, "unset HISTFILE");
        }
        let slot = name.split_once('[').map(|(name, index)| (name, index.trim_end_matches(']')));
        let Some((name, index)) = slot else {
            self.state.unset(name);
            return;
        };
        let at = self.number(index).and_then(|at| usize::try_from(at).ok());
        if let Some(mut value) = self.state.get(name).cloned() {
            if let (Some(array), Some(at)) = (value.array.as_mut(), at)
                && let Some(item) = array.get_mut(at)
            {
                item.clear();
            }
            self.state.set(name, value);
        }
    }
}
