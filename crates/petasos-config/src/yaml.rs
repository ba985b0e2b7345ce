//! YAML text to nodes that remember where they stood and how they were written.
//!
//! What a plain scalar means is left open here: `off` is a word where a word is expected and a
//! switch where a switch is. Built on the event parser below serde-saphyr, because the tree keeps
//! positions, repeated keys and quoting, which a typed reading throws away. Size, depth and the
//! number of nodes (aliases counted as often as they are used) are bounded.

mod scalar;

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span, StrInput, StructureStyle};

pub(crate) use scalar::{Scalar, is_safe_plain};

use crate::error::Position;

/// Larger files are not configuration.
pub(crate) const BYTES_MAX: u64 = 4 << 20;
const NODES_MAX: usize = 100_000;
const DEPTH_MAX: usize = 64;

/// A value with its place in the text.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) at: Position,
    /// Bytes of the text it takes up.
    pub(crate) span: Range<usize>,
    pub(crate) content: Content,
}

/// What a node holds.
#[derive(Debug, Clone)]
pub(crate) enum Content {
    Scalar(Scalar),
    List { items: Vec<Node>, flow: bool },
    Map { entries: Vec<Entry>, flow: bool },
}

/// One key of a map.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) at: Position,
    pub(crate) span: Range<usize>,
    /// Taken over from a `<<` merge rather than written here.
    pub(crate) merged: bool,
    pub(crate) value: Node,
}

/// A key that stands twice in one map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeated {
    pub(crate) key: String,
    pub(crate) at: Position,
}

/// A whole file.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    /// `None` when the text has nothing but comments.
    pub(crate) root: Option<Node>,
    pub(crate) repeated: Vec<Repeated>,
}

/// Text that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: Position,
    pub(crate) problem: String,
}

impl Node {
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.content, Content::Scalar(scalar) if scalar.is_null())
    }

    /// The value, when nothing says what is expected.
    pub(crate) fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(scalar) => scalar.value(),
            Content::List { items, .. } => items.iter().map(Self::value).collect(),
            Content::Map { entries, .. } => {
                entries.iter().map(|entry| (entry.name.clone(), entry.value.value())).collect()
            }
        }
    }

    /// What the node is called in a message.
    pub(crate) fn shape(&self) -> &'static str {
        match &self.content {
            Content::Scalar(scalar) => scalar.shape(),
            Content::List { .. } => "a list",
            Content::Map { .. } => "a map",
        }
    }
}

/// Reads one document.
pub(crate) fn parse(text: &str) -> Result<Document, Fault> {
    let mut options = serde_saphyr::granit_parser::Options::default();
    options.set_emit_comments(false);
    let mut builder = Builder {
        parser: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        nodes: 0,
        trail: Vec::new(),
        repeated: Vec::new(),
    };
    let mut root = None;
    loop {
        let (event, span) = builder.next()?;
        match event {
            Event::StreamEnd => break,
            Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
            _ if root.is_some() => {
                return Err(fault(span, "a second document starts here; keep only one"));
            }
            event => root = Some(builder.node(event, span)?.0),
        }
    }
    Ok(Document { root, repeated: builder.repeated })
}

/// The line a fault is on, with a mark under the column.
pub(crate) fn snippet(text: &str, at: Position) -> String {
    let line = text.lines().nth(at.line.saturating_sub(1)).unwrap_or_default();
    let shown: String = line.chars().take(120).collect();
    let number = at.line.to_string();
    let mark = at.column.saturating_sub(1).min(shown.chars().count());
    format!("{number} | {shown}\n{} | {}^", " ".repeat(number.len()), " ".repeat(mark))
}

struct Builder<'input> {
    parser: Parser<'input, StrInput<'input>>,
    /// Anchored nodes, with how many nodes each stands for.
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    trail: Vec<String>,
    repeated: Vec<Repeated>,
}

impl<'input> Builder<'input> {
    fn next(&mut self) -> Result<(Event<'input>, Span), Fault> {
        match self.parser.next_event() {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => {
                let mark = error.marker();
                let at = Position { line: mark.line(), column: mark.col() + 1 };
                Err(Fault { at, problem: format!("not valid YAML: {}", error.info()) })
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// The node an event opens, and how many nodes it stands for.
    fn node(&mut self, event: Event<'input>, span: Span) -> Result<(Node, usize), Fault> {
        self.count(1, span)?;
        let before = self.nodes;
        let at = position(span);
        let start = bytes(span);
        let (anchor, mut node) = match event {
            Event::Alias(id) => {
                let Some((node, size)) = self.anchors.get(&id) else {
                    return Err(fault(span, "an alias refers to a node that contains it"));
                };
                let (mut node, size) = (node.clone(), *size);
                self.count(size, span)?;
                node.at = at;
                node.span = start;
                return Ok((node, size));
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                let forced = tag.as_ref().is_some_and(|tag| tag.core_suffix() == Some("str"));
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let scalar = Scalar { text: text.into_owned(), plain: plain && !forced, block };
                (anchor, Node { at, span: start, content: Content::Scalar(scalar) })
            }
            Event::SequenceStart(style, anchor, _) => {
                let flow = style == StructureStyle::Flow;
                (anchor, self.list(Node { at, span: start, content: list(flow) }, span)?)
            }
            Event::MappingStart(style, anchor, _) => {
                let flow = style == StructureStyle::Flow;
                (anchor, self.map(Node { at, span: start, content: map(flow) }, span)?)
            }
            _ => return Err(fault(span, "something that is not a value stands here")),
        };
        if node.span.end < node.span.start {
            node.span.end = node.span.start;
        }
        let size = self.nodes - before + 1;
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok((node, size))
    }

    fn list(&mut self, mut node: Node, opened: Span) -> Result<Node, Fault> {
        self.deeper("-", opened)?;
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                node.span.end = bytes(span).end;
                break;
            }
            let (item, _) = self.node(event, span)?;
            if let Content::List { items, .. } = &mut node.content {
                items.push(item);
            }
        }
        self.trail.pop();
        Ok(node)
    }

    fn map(&mut self, mut node: Node, opened: Span) -> Result<Node, Fault> {
        let mut merges = Vec::new();
        let mut found: Vec<Entry> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                node.span.end = bytes(span).end;
                break;
            }
            let Event::Scalar(name, style, ..) = event else {
                return Err(fault(span, "a key must be a single word or text"));
            };
            let name = name.into_owned();
            self.deeper(&name, opened)?;
            let (event, inner) = self.next()?;
            let (value, _) = self.node(event, inner)?;
            if name == "<<" && style == ScalarStyle::Plain {
                merges.push((value, span));
            } else {
                let entry =
                    Entry { name, at: position(span), span: bytes(span), merged: false, value };
                self.keep(&mut found, entry);
            }
            self.trail.pop();
        }
        for (value, span) in merges {
            merge(&mut found, value, span)?;
        }
        if let Content::Map { entries, .. } = &mut node.content {
            *entries = found;
        }
        Ok(node)
    }

    /// The later of two equal keys counts, as in the readers that people come from.
    fn keep(&mut self, found: &mut Vec<Entry>, entry: Entry) {
        match found.iter_mut().find(|other| other.name == entry.name) {
            Some(other) => {
                self.repeated.push(Repeated { key: self.trail.join("."), at: entry.at });
                *other = entry;
            }
            None => found.push(entry),
        }
    }

    fn deeper(&mut self, name: &str, span: Span) -> Result<(), Fault> {
        if self.trail.len() >= DEPTH_MAX {
            return Err(fault(span, "nested too deeply"));
        }
        self.trail.push(name.to_owned());
        Ok(())
    }

    fn count(&mut self, more: usize, span: Span) -> Result<(), Fault> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > NODES_MAX {
            return Err(fault(span, "more than 100000 values, aliases counted; make it smaller"));
        }
        Ok(())
    }
}

fn merge(found: &mut Vec<Entry>, value: Node, span: Span) -> Result<(), Fault> {
    match value.content {
        Content::Map { entries, .. } => {
            for mut entry in entries {
                if !found.iter().any(|other| other.name == entry.name) {
                    entry.merged = true;
                    found.push(entry);
                }
            }
            Ok(())
        }
        Content::List { items, .. } => {
            items.into_iter().try_for_each(|item| merge(found, item, span))
        }
        Content::Scalar(_) => Err(fault(span, "`<<` takes a map or a list of maps")),
    }
}

fn list(flow: bool) -> Content {
    Content::List { items: Vec::new(), flow }
}

fn map(flow: bool) -> Content {
    Content::Map { entries: Vec::new(), flow }
}

fn position(span: Span) -> Position {
    Position { line: span.start.line(), column: span.start.col() + 1 }
}

fn bytes(span: Span) -> Range<usize> {
    span.byte_range().unwrap_or(0..0)
}

fn fault(span: Span, problem: &str) -> Fault {
    Fault { at: position(span), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests;
