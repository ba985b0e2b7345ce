//! The value of `$x` and `${x…}` in the current state.

use super::engine::Engine;
use super::value::{Arg, Value};
use crate::path::matches_glob;
use crate::shell::Span;
use crate::shell::normalise::UNKNOWN;
use crate::shell::tree::{Operation, Parameter, Script};
use std::rc::Rc;

/// Trimming and replacing look at texts up to this length.
const PATTERN_TEXT_MAX: usize = 256;

impl Engine<'_> {
    /// The fields a parameter stands for; more than one for `$@` and arrays.
    pub(super) fn parameter(
        &mut self,
        script: &Rc<Script>,
        parameter: &Parameter,
        quoted: bool,
        span: Span,
    ) -> Vec<Arg> {
        let name = script.source.get(parameter.name).to_owned();
        let mut values = self.base_values(script, parameter, &name, quoted, span);
        if parameter.length {
            let known = values.first().filter(|value| !value.is_unknown());
            let text =
                known.map_or(UNKNOWN.to_string(), |value| value.text.chars().count().to_string());
            return vec![Arg::new(text, span)];
        }
        match &parameter.operation {
            Operation::None | Operation::Error => values,
            Operation::Default { assign, word } => {
                let is_set = values.iter().any(|value| !value.text.is_empty());
                if is_set && self.is_assigned(&name) {
                    return values;
                }
                let default = self.expand_text(script, word);
                if *assign {
                    self.state.set(
                        &name,
                        Value {
                            text: default.text.clone(),
                            taint: default.taint,
                            ..Value::default()
                        },
                    );
                }
                vec![default]
            }
            Operation::Alternate(word) => {
                let alternate = self.expand_text(script, word);
                let is_empty = values.iter().all(|value| value.text.is_empty());
                if is_empty && self.is_assigned(&name) {
                    vec![Arg::new("", span)]
                } else {
                    vec![alternate]
                }
            }
            operation => {
                let change = self.prepare(script, operation);
                let listed = matches!(name.as_str(), "@" | "*")
                    || parameter
                        .index
                        .as_ref()
                        .is_some_and(|index| matches!(script.source.get(index.cut), "@" | "*"));
                if let (Change::Substring(offset, length), true) = (&change, listed) {
                    return slice(values, &name, *offset, *length);
                }
                for value in &mut values {
                    let size = value.text.len();
                    if !self.charge(size * 24 + change.cost(size) * 16, span) {
                        return Vec::new();
                    }
                    value.text = change.apply(&value.text);
                    // A prompt is expanded once more.
                    if matches!(operation, Operation::Transform(b'P')) {
                        self.expand_again(&value.text, span);
                    }
                }
                values
            }
        }
    }

    /// Runs the substitutions in a text that is expanded by whoever takes it.
    pub(super) fn expand_again(&mut self, text: &str, span: Span) {
        if text.contains("$(") || text.contains('`') {
            let code = Arg::new(format!(": \"{}\"", text.replace('"', "\\\"")), span);
            self.run_shell(code, span);
        }
    }

    fn is_assigned(&self, name: &str) -> bool {
        self.state.get(name).is_some()
            || matches!(name, "HOME" | "PWD" | "IFS" | "0")
            || (name.bytes().all(|byte| byte.is_ascii_digit()) || name == "@" || name == "*")
                && self.state.positional.is_some()
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one parameter")]
    fn base_values(
        &mut self,
        script: &Rc<Script>,
        parameter: &Parameter,
        name: &str,
        quoted: bool,
        span: Span,
    ) -> Vec<Arg> {
        if name == "@" || (name == "*" && !quoted) {
            return self.positional(span);
        }
        if name == "*" {
            let texts: Vec<String> =
                self.positional(span).into_iter().map(|arg| arg.text).collect();
            return vec![Arg::new(texts.join(&self.joiner()), span)];
        }
        if let Some(index) = &parameter.index {
            let index = self.expand_text(script, index).text;
            return self.element(name, &index, quoted, span);
        }
        // An array of zsh stands for all of its words.
        let listed = self.state.get(name).is_some_and(|value| value.array.is_some());
        if listed && self.via.contains(&"zsh") {
            return self.element(name, "@", quoted, span);
        }
        let mut value = self.variable(name, span);
        if parameter.indirect && !value.is_unknown() {
            let target = value.text.clone();
            value = self.variable(&target, span);
        }
        vec![value]
    }

    fn element(&mut self, name: &str, index: &str, quoted: bool, span: Span) -> Vec<Arg> {
        let number = self.number(index);
        let length =
            self.state.get(name).and_then(|value| value.array.as_ref()).map_or(0, Vec::len);
        let every = matches!(index, "@" | "*");
        if every && !self.charge(length * 64, span) {
            return Vec::new();
        }
        let Some(value) = self.state.get(name) else {
            return vec![Arg::new(UNKNOWN.to_string(), span)];
        };
        let Some(array) = &value.array else {
            return vec![Arg::of(value.text.clone(), span, value.taint)];
        };
        let taint = value.taint;
        let arg = |text: &String| Arg::of(text.clone(), span, taint);
        if index == "*" && quoted {
            return vec![Arg::of(array.join(&self.joiner()), span, taint)];
        }
        if index == "@" || index == "*" {
            return array.iter().map(arg).collect();
        }
        let keyed = array.last().is_some_and(|item| item.starts_with('['));
        let entry = format!("[{index}]=");
        let mut items = array.iter().rev().take(if keyed { array.len() } else { 0 });
        let found = items.find_map(|item| item.strip_prefix(&entry));
        if let Some(found) = found {
            return vec![Arg::of(found.to_owned(), span, taint)];
        }
        match number {
            Some(number) => {
                let length = i64::try_from(array.len()).unwrap_or(i64::MAX);
                let at = if number < 0 { length + number } else { number };
                let found = usize::try_from(at).ok().and_then(|at| array.get(at));
                vec![Arg::new(found.cloned().unwrap_or_default(), span)]
            }
            None => vec![Arg::new(UNKNOWN.to_string(), span)],
        }
    }

    /// What stands between the words of `"$*"`.
    fn joiner(&self) -> String {
        self.separators().chars().next().map(String::from).unwrap_or_default()
    }

    pub(crate) fn positional(&mut self, span: Span) -> Vec<Arg> {
        match &self.state.positional {
            Some(args) => {
                let args = Rc::clone(args);
                if self.charge(args.len() * 64, span) { args.as_ref().clone() } else { Vec::new() }
            }
            None => vec![Arg::new(UNKNOWN.to_string(), span)],
        }
    }

    /// A plain variable; what the line does not set is unknown.
    pub(crate) fn variable(&mut self, name: &str, span: Span) -> Arg {
        let size = self.state.get(name).map_or(0, |value| value.text.len());
        self.charge(size, span);
        if let Some(value) = self.state.get(name).filter(|value| value.reference) {
            let target = value.text.clone();
            let further = self.state.get(&target).is_some_and(|value| value.reference);
            return if further || target == name {
                Arg::new(UNKNOWN.to_string(), span)
            } else {
                self.variable(&target, span)
            };
        }
        if let Some(value) = self.state.get(name) {
            let count = value.others.len() + 1;
            let taint = value.taint;
            let text = match self.choice.checked_sub(1).and_then(|other| value.others.get(other)) {
                Some(other) => other.clone(),
                None => value.text.clone(),
            };
            self.choices = self.choices.max(count);
            return Arg::of(text, span, taint);
        }
        let text = match name {
            "HOME" => self.facts.home.clone(),
            "PWD" => self.working_directory(),
            "IFS" => " \t\n".to_owned(),
            "0" | "BASH" => "bash".to_owned(),
            "SHELL" => "/bin/bash".to_owned(),
            "#" => match &self.state.positional {
                Some(args) => args.len().to_string(),
                None => UNKNOWN.to_string(),
            },
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                return self.argument(digits, span);
            }
            _ => UNKNOWN.to_string(),
        };
        Arg::new(text, span)
    }

    fn argument(&self, digits: &str, span: Span) -> Arg {
        match (&self.state.positional, digits.parse::<usize>()) {
            (Some(args), Ok(number)) => {
                args.get(number.wrapping_sub(1)).cloned().unwrap_or_else(|| Arg::new("", span))
            }
            _ => Arg::new(UNKNOWN.to_string(), span),
        }
    }

    fn prepare(&mut self, script: &Rc<Script>, operation: &Operation) -> Change {
        match operation {
            Operation::TrimPrefix { longest, pattern } => {
                Change::TrimPrefix(*longest, self.expand_text(script, pattern).text)
            }
            Operation::TrimSuffix { longest, pattern } => {
                Change::TrimSuffix(*longest, self.expand_text(script, pattern).text)
            }
            Operation::Replace { all, anchor, pattern, with } => Change::Replace {
                all: *all,
                anchor: *anchor,
                pattern: self.expand_text(script, pattern).text,
                with: self.expand_text(script, with).text,
            },
            Operation::Substring { offset, length } => {
                let offset = self.expand_text(script, offset).text;
                let offset = self.number(&offset);
                let length = length.as_ref().map(|length| {
                    let length = self.expand_text(script, length).text;
                    self.number(&length)
                });
                match (offset, length) {
                    (Some(offset), None) => Change::Substring(offset, None),
                    (Some(offset), Some(Some(length))) => Change::Substring(offset, Some(length)),
                    _ => Change::Forget,
                }
            }
            Operation::Upper(all) => Change::Case(true, *all),
            Operation::Lower(all) => Change::Case(false, *all),
            Operation::Transform(b'U') => Change::Case(true, true),
            Operation::Transform(b'L') => Change::Case(false, true),
            Operation::Transform(b'u') => Change::Case(true, false),
            Operation::Transform(b'E' | b'P') => Change::Unescape,
            _ => Change::Keep,
        }
    }
}

/// An operation with its operands worked out.
enum Change {
    Keep,
    Forget,
    TrimPrefix(bool, String),
    TrimSuffix(bool, String),
    Replace { all: bool, anchor: u8, pattern: String, with: String },
    Substring(i64, Option<i64>),
    Case(bool, bool),
    Unescape,
}

impl Change {
    /// Work that matching a pattern against every part of a text may take.
    fn cost(&self, size: usize) -> usize {
        let (Self::TrimPrefix(_, pattern)
        | Self::TrimSuffix(_, pattern)
        | Self::Replace { pattern, .. }) = self
        else {
            return 0;
        };
        let size = size.min(PATTERN_TEXT_MAX);
        if pattern.contains(['*', '?', '[']) {
            size * size * pattern.len().min(256) / 16
        } else {
            size
        }
    }

    fn apply(&self, text: &str) -> String {
        if text.contains(UNKNOWN) {
            return UNKNOWN.to_string();
        }
        match self {
            Self::Keep => text.to_owned(),
            Self::Forget => UNKNOWN.to_string(),
            Self::TrimPrefix(longest, pattern) => trim(text, pattern, *longest, true),
            Self::TrimSuffix(longest, pattern) => trim(text, pattern, *longest, false),
            Self::Replace { all, anchor, pattern, with } => {
                replace(text, pattern, with, (*all, *anchor))
            }
            Self::Substring(offset, length) => substring(text, *offset, *length),
            Self::Case(upper, all) => change_case(text, *upper, *all),
            Self::Unescape => super::printf::unescape(text, true),
        }
    }
}

/// `${@:2:1}`: positions of `$@` begin at one, those of an array at zero.
fn slice(values: Vec<Arg>, name: &str, offset: i64, length: Option<i64>) -> Vec<Arg> {
    let count = i64::try_from(values.len()).unwrap_or(i64::MAX);
    let first = i64::from(matches!(name, "@" | "*"));
    let start = if offset < 0 { count + offset } else { offset - first };
    let end = length.map_or(count, |length| start.saturating_add(length));
    let start = usize::try_from(start).unwrap_or(0);
    let end = usize::try_from(end).unwrap_or(0);
    values.into_iter().take(end).skip(start).collect()
}

fn boundaries(text: &str) -> Vec<usize> {
    text.char_indices().map(|(at, _)| at).chain([text.len()]).collect()
}

#[expect(clippy::fn_params_excessive_bools, reason = "two independent switches of one operator")]
fn trim(text: &str, pattern: &str, longest: bool, prefix: bool) -> String {
    if !pattern.contains(['*', '?', '[']) {
        let rest = if prefix { text.strip_prefix(pattern) } else { text.strip_suffix(pattern) };
        return rest.unwrap_or(text).to_owned();
    }
    if text.len() > PATTERN_TEXT_MAX || pattern.len() > PATTERN_TEXT_MAX {
        return UNKNOWN.to_string();
    }
    let mut cuts = boundaries(text);
    if longest == prefix {
        cuts.reverse();
    }
    for at in cuts {
        let Some((head, tail)) = text.split_at_checked(at) else { continue };
        if prefix && matches_glob(pattern, head) {
            return tail.to_owned();
        }
        if !prefix && matches_glob(pattern, tail) {
            return head.to_owned();
        }
    }
    text.to_owned()
}

fn replace(text: &str, pattern: &str, with: &str, (all, anchor): (bool, u8)) -> String {
    if pattern.is_empty() {
        return text.to_owned();
    }
    if !pattern.contains(['*', '?', '[']) {
        return match anchor {
            b'#' => {
                text.strip_prefix(pattern).map_or(text.to_owned(), |rest| format!("{with}{rest}"))
            }
            b'%' => {
                text.strip_suffix(pattern).map_or(text.to_owned(), |rest| format!("{rest}{with}"))
            }
            _ if all => text.replace(pattern, with),
            _ => text.replacen(pattern, with, 1),
        };
    }
    if text.len() > PATTERN_TEXT_MAX || pattern.len() > PATTERN_TEXT_MAX {
        return UNKNOWN.to_string();
    }
    let mut output = String::new();
    let mut rest = text;
    let mut done = false;
    while !rest.is_empty() {
        let hit = boundaries(rest).into_iter().rev().filter(|at| *at > 0).find_map(|at| {
            rest.split_at_checked(at).filter(|(head, _)| matches_glob(pattern, head))
        });
        match hit {
            Some((_, tail)) if !done || all => {
                output.push_str(with);
                rest = tail;
                done = true;
            }
            _ => {
                let mut letters = rest.chars();
                output.extend(letters.next());
                rest = letters.as_str();
            }
        }
    }
    output
}

fn substring(text: &str, offset: i64, length: Option<i64>) -> String {
    let letters: Vec<char> = text.chars().collect();
    let count = i64::try_from(letters.len()).unwrap_or(i64::MAX);
    let start = if offset < 0 { (count + offset).max(0) } else { offset.min(count) };
    let end = match length {
        None => count,
        Some(length) if length < 0 => count + length,
        Some(length) => start.saturating_add(length).min(count),
    };
    let start = usize::try_from(start).unwrap_or(0);
    let end = usize::try_from(end).unwrap_or(0);
    letters.get(start..end.max(start)).unwrap_or_default().iter().collect()
}

#[expect(clippy::fn_params_excessive_bools, reason = "two independent switches of one operator")]
fn change_case(text: &str, upper: bool, all: bool) -> String {
    let change = |letter: char| -> String {
        if upper { letter.to_uppercase().collect() } else { letter.to_lowercase().collect() }
    };
    let mut letters = text.chars();
    if all {
        return letters.map(change).collect();
    }
    letters.next().map(change).unwrap_or_default() + letters.as_str()
}
