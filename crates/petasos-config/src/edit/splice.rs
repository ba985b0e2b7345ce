//! The smallest change of the text that makes a change of the value.
//!
//! Works on the places of the nodes, so that every byte outside the change stays. It may be wrong
//! about a layout it does not foresee: the caller reads the result again and compares.

use std::ops::Range;

use serde_json::{Map, Value};

use super::{expected, render};
use crate::yaml::{Content, Entry, Node};

/// A text and what it says.
#[derive(Debug)]
pub(super) struct Splices<'a> {
    text: &'a str,
    root: Option<&'a Node>,
    newline: &'static str,
}

/// Replacements, none overlapping.
type Cuts = Vec<(Range<usize>, String)>;

impl<'a> Splices<'a> {
    pub(super) fn new(text: &'a str, root: Option<&'a Node>) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text, root, newline }
    }

    pub(super) fn set(&self, path: &[String], value: &Value) -> Option<String> {
        let Some(mut node) = self.root else {
            let lines = render::block(path, value, 0, self.newline);
            return self.apply(vec![self.lines_at(self.text.len(), &lines)]);
        };
        for (depth, name) in path.iter().enumerate() {
            let Content::Map { entries, flow } = &node.content else { return None };
            let rest = path.get(depth + 1..)?;
            let Some(entry) = entries.iter().find(|entry| entry.name == *name && !entry.merged)
            else {
                return self.apply(self.insert(node, path.get(depth..)?, value)?);
            };
            if rest.is_empty() {
                return self.apply(self.replace(entry, *flow, value)?);
            }
            if !matches!(entry.value.content, Content::Map { .. }) {
                let mut inner = expected::as_map(&entry.value.value(), path.get(..=depth)?).ok()?;
                merge(inner.as_object_mut()?, rest, value.clone())?;
                return self.apply(self.replace(entry, *flow, &inner)?);
            }
            node = &entry.value;
        }
        None
    }

    pub(super) fn unset(&self, path: &[String]) -> Option<String> {
        let (map, index) = self.find(path)?;
        let Content::Map { entries, flow } = &map.content else { return None };
        let places: Vec<Range<usize>> =
            entries.iter().map(|entry| entry.span.start..self.entry_end(entry)).collect();
        self.apply(vec![(self.without(&places, index, *flow)?, String::new())])
    }

    pub(super) fn append(&self, path: &[String], item: &str) -> Option<String> {
        let Some((map, index)) = self.find(path) else {
            return self.set(path, &Value::from(vec![item]));
        };
        let Content::Map { entries, flow: outer } = &map.content else { return None };
        let entry = entries.get(index)?;
        let Content::List { items, flow } = &entry.value.content else {
            let mut items = match entry.value.value() {
                Value::Null => Vec::new(),
                Value::String(one) => vec![Value::from(one)],
                _ => return None,
            };
            items.push(Value::from(item));
            return self.apply(self.replace(entry, *outer, &Value::from(items))?);
        };
        let Some(last) = items.last() else {
            return self.apply(self.replace(entry, *outer, &Value::from(vec![item]))?);
        };
        let end = self.end(last);
        let word = render::word(item);
        if *flow {
            return self.apply(vec![(end..end, format!(", {word}"))]);
        }
        let indent = self.column(self.dash(entry));
        let line = format!("{}- {word}{}", " ".repeat(indent), self.newline);
        self.apply(vec![self.lines_at(self.line_end(end), &line)])
    }

    pub(super) fn remove(&self, path: &[String], item: &str) -> Option<String> {
        let (map, index) = self.find(path)?;
        let Content::Map { entries, flow: outer } = &map.content else { return None };
        let entry = entries.get(index)?;
        let Content::List { items, flow } = &entry.value.content else { return None };
        let is_it = |node: &Node| node.value().as_str() == Some(item);
        if items.iter().all(is_it) {
            return self.apply(self.replace(entry, *outer, &Value::Array(Vec::new()))?);
        }
        let places: Vec<Range<usize>> =
            items.iter().map(|item| item.span.start..self.end(item)).collect();
        let cuts = items
            .iter()
            .enumerate()
            .filter(|(_, item)| is_it(item))
            .map(|(index, _)| Some((self.without(&places, index, *flow)?, String::new())))
            .collect::<Option<Cuts>>()?;
        self.apply(cuts)
    }

    /// The map a key is in, and which of its entries it is.
    fn find(&self, path: &[String]) -> Option<(&'a Node, usize)> {
        let mut node = self.root?;
        for (depth, name) in path.iter().enumerate() {
            let Content::Map { entries, .. } = &node.content else { return None };
            let index = entries.iter().position(|entry| entry.name == *name && !entry.merged)?;
            if depth + 1 == path.len() {
                return Some((node, index));
            }
            node = &entries.get(index)?.value;
        }
        None
    }

    fn insert(&self, map: &Node, path: &[String], value: &Value) -> Option<Cuts> {
        let Content::Map { entries, flow } = &map.content else { return None };
        let written: Vec<&Entry> = entries.iter().filter(|entry| !entry.merged).collect();
        if *flow {
            let (name, rest) = path.split_first()?;
            let inner = nested(rest, value.clone());
            let pair = format!("{}: {}", render::word(name), render::inline(&inner));
            return Some(match written.iter().map(|entry| self.entry_end(entry)).max() {
                Some(end) => vec![(end..end, format!(", {pair}"))],
                None => vec![(map.span.start + 1..map.span.start + 1, pair)],
            });
        }
        let indent = self.column(written.first().map_or(map.span.start, |first| first.span.start));
        let end = written.iter().map(|entry| self.entry_end(entry)).max().unwrap_or(map.span.end);
        let lines = render::block(path, value, indent, self.newline);
        Some(vec![self.lines_at(self.line_end(end), &lines)])
    }

    /// Puts a value in place of an entry's own.
    fn replace(&self, entry: &Entry, flow: bool, value: &Value) -> Option<Cuts> {
        let colon = self.colon(entry)?;
        let old = &entry.value;
        let tall = render::is_tall(value) && !flow;
        let beside = || format!(" {}", render::inline(value));
        let below = || render::below(value, self.column(entry.span.start) + 2, self.newline);
        if self.is_unwritten(old) {
            return Some(if tall {
                vec![self.lines_at(self.line_end(colon + 1), &below())]
            } else {
                vec![(colon + 1..colon + 1, beside())]
            });
        }
        let end = self.end(old);
        match &old.content {
            Content::Scalar(scalar) if scalar.block => {
                let stop = self.line_end(end);
                let text = if tall { String::new() } else { beside() };
                let lines = if tall { below() } else { String::new() };
                Some(vec![(colon + 1..stop, format!("{text}{}{lines}", self.newline))])
            }
            Content::List { flow: false, .. } | Content::Map { flow: false, .. } => {
                let region = self.line_start(old.span.start)..self.line_end(end);
                if tall {
                    return Some(vec![self.replace_lines(region, &below())]);
                }
                Some(vec![(colon + 1..colon + 1, beside()), (region, String::new())])
            }
            _ if tall => {
                let before = self.text.get(..old.span.start)?.trim_end_matches([' ', '\t']).len();
                let stop = self.lines_at(self.line_end(end), &below());
                Some(vec![(before.max(colon + 1)..end, String::new()), stop])
            }
            _ => Some(vec![(old.span.start..end, render::inline(value))]),
        }
    }

    /// What to cut so that one of several places goes: a whole line, or a place with its comma.
    fn without(&self, places: &[Range<usize>], index: usize, flow: bool) -> Option<Range<usize>> {
        let own = places.get(index)?;
        if !flow {
            return Some(self.line_start(own.start)..self.line_end(own.end));
        }
        match (index.checked_sub(1).and_then(|before| places.get(before)), places.get(index + 1)) {
            (Some(before), _) => Some(before.end..own.end),
            (None, Some(after)) => Some(own.start..after.start),
            (None, None) => Some(own.clone()),
        }
    }

    /// Where the first dash of a list stands: at its start, or, for one that is not indented, below
    /// its key.
    fn dash(&self, entry: &Entry) -> usize {
        let start = entry.value.span.start;
        let after = self.text.get(start..).unwrap_or_default();
        let dashed =
            after.strip_prefix('-').is_some_and(|rest| rest.starts_with(char::is_whitespace));
        if dashed { start } else { entry.span.start }
    }

    fn colon(&self, entry: &Entry) -> Option<usize> {
        let after = self.text.get(entry.span.end..)?;
        Some(entry.span.end + after.find(':')?)
    }

    /// A null that is not written has no place of its own.
    fn is_unwritten(&self, node: &Node) -> bool {
        node.is_null() && self.text.get(node.span.clone()).is_none_or(|text| text.trim().is_empty())
    }

    fn entry_end(&self, entry: &Entry) -> usize {
        if self.is_unwritten(&entry.value) {
            self.colon(entry).map_or(entry.span.end, |colon| colon + 1)
        } else {
            self.end(&entry.value)
        }
    }

    /// Where a node's own text ends; a block ends with the last thing in it, and a block of lines
    /// before the indent of the line after it.
    fn end(&self, node: &Node) -> usize {
        match &node.content {
            Content::Scalar(scalar) if scalar.block => {
                let start = self.line_start(node.span.end);
                let indent = self.text.get(start..node.span.end).unwrap_or_default();
                if indent.trim().is_empty() { start } else { node.span.end }
            }
            Content::List { items, flow: false } => {
                items.last().map_or(node.span.end, |item| self.end(item))
            }
            Content::Map { entries, flow: false } => entries
                .iter()
                .filter(|entry| !entry.merged)
                .map(|entry| self.entry_end(entry))
                .max()
                .unwrap_or(node.span.end),
            Content::Scalar(_) | Content::List { .. } | Content::Map { .. } => node.span.end,
        }
    }

    fn line_start(&self, at: usize) -> usize {
        self.text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |found| found + 1)
    }

    /// After the line break, also when the place is already the start of a line.
    fn line_end(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        if before.ends_with('\n') {
            return at;
        }
        let after = self.text.get(at..).unwrap_or_default();
        after.find('\n').map_or(self.text.len(), |found| at + found + 1)
    }

    fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }

    /// New lines at a place, after a line break if the text before has none.
    fn lines_at(&self, at: usize, lines: &str) -> (Range<usize>, String) {
        self.replace_lines(at..at, lines)
    }

    fn replace_lines(&self, region: Range<usize>, lines: &str) -> (Range<usize>, String) {
        let before = self.text.get(..region.start).unwrap_or_default();
        let open = !before.is_empty() && !before.ends_with('\n');
        let start = if open { self.newline } else { "" };
        (region, format!("{start}{lines}"))
    }

    fn apply(&self, mut cuts: Cuts) -> Option<String> {
        cuts.sort_by_key(|(range, _)| (range.start, range.end));
        let mut new = String::with_capacity(self.text.len() + 64);
        let mut at = 0;
        for (range, text) in cuts {
            new.push_str(self.text.get(at..range.start)?);
            new.push_str(&text);
            at = range.end;
        }
        new.push_str(self.text.get(at..)?);
        Some(new)
    }
}

fn nested(path: &[String], value: Value) -> Value {
    path.iter()
        .rev()
        .fold(value, |inner, name| Value::Object(Map::from_iter([(name.clone(), inner)])))
}

fn merge(map: &mut Map<String, Value>, path: &[String], value: Value) -> Option<()> {
    let (name, rest) = path.split_first()?;
    map.insert(name.clone(), nested(rest, value));
    Some(())
}
