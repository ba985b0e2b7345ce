//! Nodes of a file to checked leaves: the right type, a known name, references filled in.
//!
//! An unknown name is a notice with the nearest known one; in a section that guards something, or
//! where the nearest name is such a key, it is a problem and the start is refused.

mod fit;
mod rows;

use std::collections::BTreeSet;
use std::path::Path;

use petasos_contract::settings::Notice;
use serde_json::{Map, Value};

pub(crate) use fit::from_text;
pub(crate) use rows::check_rows;

use crate::error::{Position, Problem};
use crate::expand::expand;
use crate::keys::{self, Candidates, Key, Kind, Step};
use crate::mask;
use crate::variables;
use crate::yaml::{Content, Document, Entry, Node, Scalar};

/// Maps that may be written as one word, and the key that word then is.
pub(crate) const SHORTHANDS: &[(&str, &str)] =
    &[("model", "default"), ("tools.tool_search", "enabled")];

/// One value of a layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) path: Vec<String>,
    pub(crate) value: Value,
    /// The value, fit to be shown.
    pub(crate) shown: Value,
}

/// What a file says, checked.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) leaves: Vec<Leaf>,
    /// The sections it has at the top, empty ones too.
    pub(crate) sections: BTreeSet<String>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) problems: Vec<Problem>,
}

/// Checks a file.
pub(crate) fn check<'a>(
    document: &Document,
    file: &'a Path,
    lookup: &'a dyn Fn(&str) -> Option<&'a str>,
) -> Checked {
    let mut walk = Walk { file, lookup, found: Checked::default(), path: Vec::new() };
    for repeated in &document.repeated {
        // One of the two guards would be lost, and it may be the one that matters.
        if keys::is_security(&repeated.key) {
            walk.found.problems.push(Problem {
                key: repeated.key.clone(),
                place: file.display().to_string(),
                at: Some(repeated.at),
                what: format!("`{}` is set twice", repeated.key),
                hint: "keep one of them".to_owned(),
            });
            continue;
        }
        walk.found.notices.push(Notice {
            key: repeated.key.clone(),
            what: format!(
                "`{}` is set twice; the one at {}:{} counts",
                repeated.key,
                file.display(),
                repeated.at
            ),
            hint: "remove one of them".to_owned(),
        });
    }
    match document.root.as_ref().map(|root| (root, &root.content)) {
        None => {}
        Some((_, Content::Map { entries, .. })) => walk.map(entries, &Candidates::top()),
        Some((root, _)) if root.is_null() => {}
        Some((root, _)) => {
            let what = format!("the file holds {} instead of a map", root.shape());
            walk.problem(root.at, what, "write `section:` lines");
        }
    }
    walk.found
}

/// The dotted form of a path; a dot inside a name is written `\.`.
pub(crate) fn dotted(path: &[String]) -> String {
    let mut text = String::new();
    for (index, name) in path.iter().enumerate() {
        if index > 0 {
            text.push('.');
        }
        if name.contains(['.', '\\']) {
            text.push_str(&name.replace('\\', "\\\\").replace('.', "\\."));
        } else {
            text.push_str(name);
        }
    }
    text
}

/// The names of a dotted path.
pub(crate) fn names(dotted: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut escaped = false;
    for character in dotted.chars() {
        match character {
            '\\' if !escaped => escaped = true,
            '.' if !escaped => names.push(String::new()),
            other => {
                escaped = false;
                if let Some(name) = names.last_mut() {
                    name.push(other);
                }
            }
        }
    }
    names
}

struct Walk<'a> {
    file: &'a Path,
    lookup: &'a dyn Fn(&str) -> Option<&'a str>,
    found: Checked,
    path: Vec<String>,
}

impl Walk<'_> {
    fn map(&mut self, entries: &[Entry], candidates: &Candidates) {
        for entry in entries {
            if self.path.is_empty() && !entry.value.is_null() {
                self.found.sections.insert(entry.name.clone());
            }
            self.path.push(entry.name.clone());
            match candidates.step(&entry.name) {
                Step::Unknown => self.unknown(entry, candidates),
                Step::Known { own, below } => self.known(&entry.value, own, &below),
            }
            self.path.pop();
        }
    }

    /// Nothing written means not set.
    fn known(&mut self, node: &Node, own: Option<&'static Key>, below: &Candidates) {
        match (&node.content, own) {
            _ if node.is_null() => {}
            (Content::Map { entries, .. }, _) if !below.is_empty() => self.map(entries, below),
            (_, Some(key)) => self.typed(node, key),
            (Content::Scalar(_), None) => self.shorthand(node, below),
            (Content::List { .. } | Content::Map { .. }, None) => self.misfit(node, "a map"),
        }
    }

    /// A single word in place of some maps stands for their main key.
    fn shorthand(&mut self, node: &Node, below: &Candidates) {
        let dotted = self.path.join(".");
        let main = SHORTHANDS.iter().find(|(path, _)| *path == dotted).map(|(_, main)| *main);
        let key = main.and_then(|main| match below.step(main) {
            Step::Known { own, .. } => own.map(|key| (main, key)),
            Step::Unknown => None,
        });
        match key {
            Some((main, key)) => {
                self.path.push(main.to_owned());
                self.typed(node, key);
                self.path.pop();
            }
            None => self.misfit(node, "a map"),
        }
    }

    fn typed(&mut self, node: &Node, key: &'static Key) {
        match (key.kind, &node.content) {
            _ if key.path == rows::KEY => self.rows(node),
            (Kind::Any, _) | (Kind::Map, Content::Map { .. }) => self.free(node),
            (Kind::List, Content::List { .. }) => {
                let (value, shown) = self.plain(node);
                self.leaf(value, shown);
            }
            (Kind::Names, Content::List { items, .. }) => {
                let mut texts = Vec::with_capacity(items.len());
                for item in items {
                    match &item.content {
                        Content::Scalar(scalar) => texts.push(self.filled(scalar, node.at)),
                        Content::List { .. } | Content::Map { .. } => {
                            return self.misfit(item, "text in a list");
                        }
                    }
                }
                let (values, shown): (Vec<Value>, Vec<Value>) = texts
                    .into_iter()
                    .map(|(scalar, secret)| {
                        let shown = self.show(&scalar.text, secret);
                        (Value::String(scalar.text), shown)
                    })
                    .unzip();
                self.leaf(Value::Array(values), Value::Array(shown));
            }
            (_, Content::Scalar(scalar)) => {
                let (scalar, secret) = self.filled(scalar, node.at);
                match fit::scalar(key.kind, &scalar) {
                    Ok(value) => {
                        let hidden = secret || key.kind == Kind::Secret;
                        let shown = match &value {
                            Value::String(text) => self.show(text, hidden),
                            other if hidden => mask::hidden(&other.to_string()),
                            other => mask::masked(&mut self.path, other),
                        };
                        self.leaf(value, shown);
                    }
                    Err(expected) => self.misfit(node, &expected),
                }
            }
            (kind, _) => self.misfit(node, &fit::expected(kind)),
        }
    }

    /// A part that its owner checks: every map is walked, everything else is a leaf.
    fn free(&mut self, node: &Node) {
        match &node.content {
            Content::Map { entries, .. } if !entries.is_empty() => {
                for entry in entries {
                    self.path.push(entry.name.clone());
                    self.free(&entry.value);
                    self.path.pop();
                }
            }
            _ if node.is_null() => {}
            _ => {
                let (value, shown) = self.plain(node);
                self.leaf(value, shown);
            }
        }
    }

    /// A value with no expectation, and how to show it.
    fn plain(&mut self, node: &Node) -> (Value, Value) {
        match &node.content {
            Content::Scalar(scalar) => {
                let (scalar, secret) = self.filled(scalar, node.at);
                let value = scalar.value();
                let shown = match &value {
                    Value::String(text) => self.show(text, secret),
                    Value::Number(_) if mask::is_secret_path(&self.path) => {
                        mask::hidden(&scalar.text)
                    }
                    other => other.clone(),
                };
                (value, shown)
            }
            Content::List { items, .. } => {
                let (values, shown): (Vec<_>, Vec<_>) =
                    items.iter().map(|item| self.plain(item)).unzip();
                (Value::Array(values), Value::Array(shown))
            }
            Content::Map { entries, .. } => {
                let (mut values, mut shown) = (Map::new(), Map::new());
                for entry in entries {
                    self.path.push(entry.name.clone());
                    let (value, show) = self.plain(&entry.value);
                    self.path.pop();
                    values.insert(entry.name.clone(), value);
                    shown.insert(entry.name.clone(), show);
                }
                (Value::Object(values), Value::Object(shown))
            }
        }
    }

    /// The scalar with references filled in, and whether a secret went in.
    fn filled(&mut self, scalar: &Scalar, at: Position) -> (Scalar, bool) {
        let Some(expanded) = expand(&scalar.text, self.lookup) else {
            return (scalar.clone(), false);
        };
        for name in &expanded.missing {
            let key = dotted(&self.path);
            let what = format!("`{key}` refers to `${{{name}}}`, which is not set");
            let hint = format!("set `{name}` in .env, or write the value");
            if keys::is_security(&key) {
                self.problem(at, what, &hint);
            } else {
                self.found.notices.push(Notice { key, what, hint });
            }
        }
        let secret = expanded.used.iter().any(|name| variables::is_secret(name));
        (Scalar::text(expanded.text), secret)
    }

    fn show(&self, text: &str, secret: bool) -> Value {
        if secret || mask::is_secret_path(&self.path) {
            mask::hidden(text)
        } else {
            mask::shown(text)
        }
    }

    fn unknown(&mut self, entry: &Entry, candidates: &Candidates) {
        let key = dotted(&self.path);
        let nearest = keys::nearest(&entry.name, candidates.names()).map(|name| {
            let mut path = self.path.clone();
            path.pop();
            path.push(name.to_owned());
            dotted(&path)
        });
        let hint = match &nearest {
            Some(name) => format!("did you mean `{name}`?"),
            None => "remove it, or see `petasos config explain` for the known keys".to_owned(),
        };
        let guards = |path: &str| {
            // The section itself counts as one of its keys.
            keys::is_security(path) || matches!(path, "approvals" | "security" | "permissions")
        };
        if guards(&key) || nearest.as_deref().is_some_and(guards) {
            let what =
                format!("`{key}` is not a known key, and it may be meant to guard something");
            self.problem(entry.at, what, &hint);
            return;
        }
        let what = format!("`{key}` at {}:{} is not a known key", self.file.display(), entry.at);
        self.found.notices.push(Notice { key, what, hint });
        self.free(&entry.value);
    }

    fn misfit(&mut self, node: &Node, expected: &str) {
        let key = dotted(&self.path);
        let what = format!("`{key}` must be {expected}, not {}", node.shape());
        self.problem(node.at, what, &format!("see `petasos config explain {key}`"));
    }

    fn problem(&mut self, at: Position, what: String, hint: &str) {
        self.found.problems.push(Problem {
            key: dotted(&self.path),
            place: self.file.display().to_string(),
            at: Some(at),
            what,
            hint: hint.to_owned(),
        });
    }

    fn leaf(&mut self, value: Value, shown: Value) {
        self.found.leaves.push(Leaf { path: self.path.clone(), value, shown });
    }
}
