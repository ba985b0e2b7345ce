//! The redactor itself: finds what must not be shown and puts a mark in its place.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use aho_corasick::{AhoCorasick, MatchKind};
use petasos_contract::Settings;
use regex::{Captures, Regex};
use serde_json::Value;

use crate::{encodings, names, shapes, values};

/// Stands in place of a secret.
pub const MARK: &str = "[masked]";
/// Stands in place of a private key, whose lines have no shape of their own.
const KEY_MARK: &str = "[masked private key]";
const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_KIND: &str = "PRIVATE KEY-----";
const KEY_END: &str = "-----END ";
/// The first line of a key is no longer than this.
const KEY_LINE_CHARS: usize = 64;

/// Assignments, for commands that print the environment.
static ASSIGNMENTS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?P<name>(?:declare -x |export )?([A-Za-z_][A-Za-z0-9_]*)=)(?P<value>.+)$")
        .ok()
});

/// Knows the secrets of one settings snapshot.
#[derive(Debug)]
pub struct Redactor {
    values: Option<AhoCorasick>,
    by_shape: bool,
}

/// What a stream must remember between two pieces: whether it is inside a private key.
#[derive(Debug, Default, Clone)]
pub struct RedactState {
    in_key: bool,
}

impl Redactor {
    /// The redactor of a snapshot, made once for it.
    pub fn of(settings: &Settings) -> Arc<Self> {
        settings.derived(Self::new)
    }

    /// Gathers what must not be shown.
    pub fn new(settings: &Settings) -> Self {
        let on = settings.get("security.redact_secrets").and_then(Value::as_bool);
        Self::with_secrets(&values::secrets(settings), on.unwrap_or(true))
    }

    /// Knows only shapes.
    pub fn by_shape() -> Self {
        Self { values: None, by_shape: true }
    }

    fn with_secrets(secrets: &[String], by_shape: bool) -> Self {
        let forms: Vec<String> =
            secrets.iter().flat_map(|secret| encodings::forms(secret)).collect();
        // The longest wins: a secret that begins another must not hide only half of it.
        let values = (!forms.is_empty()).then(|| {
            let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&forms);
            built.inspect_err(|error| tracing::error!(%error, "secrets are not looked for")).ok()
        });
        Self { values: values.flatten(), by_shape }
    }

    /// Builds what the first text would wait for.
    pub fn warm() {
        shapes::warm();
    }

    /// A text that may be shown.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.piece(text, &mut RedactState::default())
    }

    /// A command that may be shown: what stands where secrets stand is hidden too.
    pub fn command<'t>(&self, text: &'t str) -> Cow<'t, str> {
        marked(text, &self.hidden_in_command(text))
    }

    /// The parts of a command that must not be shown, in order, apart from each other.
    pub fn command_ranges(&self, text: &str) -> Vec<Range<usize>> {
        self.hidden_in_command(text).into_iter().map(|hidden| hidden.range).collect()
    }

    fn hidden_in_command(&self, text: &str) -> Vec<Hidden> {
        let mut found = self.found(text, &mut RedactState::default());
        let mut ranges = Vec::new();
        shapes::commands(text, &mut ranges);
        found.extend(ranges.into_iter().map(Hidden::secret));
        apart(found)
    }

    /// Redacts every text inside a value.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Redacts a piece of a stream that begins and ends where no secret is cut.
    pub fn piece<'t>(&self, text: &'t str, state: &mut RedactState) -> Cow<'t, str> {
        let found = self.found(text, state);
        marked(text, &apart(found))
    }

    fn found(&self, text: &str, state: &mut RedactState) -> Vec<Hidden> {
        let mut ranges = Vec::new();
        if self.by_shape {
            shapes::keys(text, &mut ranges);
        }
        if let Some(values) = &self.values {
            ranges.extend(values.find_iter(text).map(|hit| hit.range()));
        }
        let mut found: Vec<Hidden> = ranges.into_iter().map(Hidden::secret).collect();
        if self.by_shape {
            private_keys(text, state, &mut found);
        }
        found
    }
}

/// Redacts every assignment whose name says that it is a secret, for environment dumps.
pub fn redact_assignments(text: &str) -> String {
    let Some(shape) = &*ASSIGNMENTS else { return text.to_owned() };
    let redacted = shape.replace_all(text, |found: &Captures<'_>| {
        let name = found.name("name").map_or("", |name| name.as_str());
        if names::is_secret_name(name) {
            format!("{name}{MARK}")
        } else {
            found.get(0).map_or("", |whole| whole.as_str()).to_owned()
        }
    });
    redacted.into_owned()
}

/// A part of a text that must not be shown, and what stands there instead.
#[derive(Debug)]
struct Hidden {
    range: Range<usize>,
    mark: &'static str,
}

impl Hidden {
    fn secret(range: Range<usize>) -> Self {
        Self { range, mark: MARK }
    }
}

/// Where private keys stand; one that does not end in this piece goes on in the next.
fn private_keys(text: &str, state: &mut RedactState, found: &mut Vec<Hidden>) {
    let mut from = 0;
    while let Some(rest) = text.get(from..).filter(|rest| !rest.is_empty()) {
        // What goes on from an earlier piece has its mark there.
        let (start, mark) = match (state.in_key, key_start(rest)) {
            (true, _) => (0, ""),
            (false, Some(start)) => (start, KEY_MARK),
            (false, None) => return,
        };
        let end = rest.get(start..).and_then(key_end).map(|end| start + end);
        state.in_key = end.is_none();
        let end = end.unwrap_or(rest.len());
        found.push(Hidden { range: from + start..from + end, mark });
        from += end;
    }
}

fn key_start(text: &str) -> Option<usize> {
    text.match_indices(KEY_BEGIN).map(|(at, _)| at).find(|at| {
        let tail = text.get(*at..).unwrap_or_default();
        let end = tail.char_indices().nth(KEY_LINE_CHARS).map_or(tail.len(), |(end, _)| end);
        tail.get(..end).is_some_and(|line| line.contains(KEY_KIND))
    })
}

/// Behind the last line of a key.
fn key_end(text: &str) -> Option<usize> {
    let behind = text.find(KEY_END)? + KEY_END.len();
    let dashes = text.get(behind..)?.find("-----")?;
    Some(behind + dashes + 5)
}

/// The parts in order; those that overlap are one, and the widest says what stands there.
fn apart(mut found: Vec<Hidden>) -> Vec<Hidden> {
    found.retain(|hidden| !hidden.range.is_empty());
    found.sort_by_key(|hidden| (hidden.range.start, std::cmp::Reverse(hidden.range.end)));
    let mut apart: Vec<Hidden> = Vec::with_capacity(found.len());
    for hidden in found {
        match apart.last_mut() {
            Some(last) if hidden.range.start < last.range.end => {
                last.range.end = last.range.end.max(hidden.range.end);
            }
            _ => apart.push(hidden),
        }
    }
    apart
}

fn marked<'t>(text: &'t str, parts: &[Hidden]) -> Cow<'t, str> {
    if parts.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for Hidden { range, mark } in parts {
        out.push_str(text.get(from..range.start).unwrap_or_default());
        out.push_str(mark);
        from = range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
