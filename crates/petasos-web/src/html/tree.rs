//! The tree of a document in one list, as the standard's parser makes it.

use std::borrow::Cow;
use std::cell::RefCell;

use html5ever::interface::{ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::{Attribute, LocalName, Namespace, ParseOpts, QualName, ns};

/// A place in the list.
pub(super) type Id = usize;

#[derive(Debug)]
pub(super) enum Kind {
    Text(String),
    Element { name: String, attributes: Vec<(String, String)> },
    Other,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) parent: Option<Id>,
    pub(super) children: Vec<Id>,
}

/// A parsed document; the first node is the document itself.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    pub(super) fn parse(html: &str) -> Self {
        let sink = Sink::default();
        html5ever::parse_document(sink, ParseOpts::default()).one(html)
    }

    pub(super) fn children(&self, id: Id) -> &[Id] {
        self.nodes.get(id).map_or(&[], |node| &node.children)
    }

    pub(super) fn parent(&self, id: Id) -> Option<Id> {
        self.nodes.get(id)?.parent
    }

    /// The tag, or nothing for text.
    pub(super) fn name(&self, id: Id) -> &str {
        match self.nodes.get(id).map(|node| &node.kind) {
            Some(Kind::Element { name, .. }) => name,
            Some(Kind::Text(_) | Kind::Other) | None => "",
        }
    }

    pub(super) fn attribute(&self, id: Id, wanted: &str) -> Option<&str> {
        match self.nodes.get(id).map(|node| &node.kind) {
            Some(Kind::Element { attributes, .. }) => {
                attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
            }
            Some(Kind::Text(_) | Kind::Other) | None => None,
        }
    }

    pub(super) fn text_of(&self, id: Id) -> Option<&str> {
        match self.nodes.get(id).map(|node| &node.kind) {
            Some(Kind::Text(text)) => Some(text),
            Some(Kind::Element { .. } | Kind::Other) | None => None,
        }
    }

    /// Everything below in document order, the node itself first.
    pub(super) fn below(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let mut stack = vec![id];
        std::iter::from_fn(move || {
            let next = stack.pop()?;
            stack.extend(self.children(next).iter().rev());
            Some(next)
        })
    }

    /// The first element with this tag.
    pub(super) fn first(&self, name: &str) -> Option<Id> {
        (0..self.nodes.len()).find(|id| self.name(*id) == name)
    }

    pub(super) fn all(&self) -> std::ops::Range<Id> {
        0..self.nodes.len()
    }

    /// The address that relative ones start from, when the document names one.
    pub(super) fn base(&self) -> Option<String> {
        let base = self.first("base")?;
        self.attribute(base, "href").map(str::to_owned)
    }
}

#[derive(Debug, Default)]
struct Sink {
    nodes: RefCell<Vec<Node>>,
    names: RefCell<Vec<QualName>>,
}

/// A name that outlives the look at the list.
#[derive(Debug)]
struct OwnName(QualName);

impl ElemName for OwnName {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl Sink {
    fn push(&self, kind: Kind, name: QualName) -> Id {
        self.document();
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node { kind, parent: None, children: Vec::new() });
        self.names.borrow_mut().push(name);
        nodes.len() - 1
    }

    /// The document is the first node, whoever asks first.
    fn document(&self) -> Id {
        let mut nodes = self.nodes.borrow_mut();
        if nodes.is_empty() {
            nodes.push(Node { kind: Kind::Other, parent: None, children: Vec::new() });
            self.names.borrow_mut().push(nameless());
        }
        0
    }

    fn detach(&self, child: Id) {
        let mut nodes = self.nodes.borrow_mut();
        let parent = nodes.get_mut(child).and_then(|node| node.parent.take());
        if let Some(parent) = parent.and_then(|parent| nodes.get_mut(parent)) {
            parent.children.retain(|id| *id != child);
        }
    }

    fn insert(&self, parent: Id, at: Option<Id>, child: NodeOrText<Id>) {
        let child = match child {
            NodeOrText::AppendNode(id) => {
                self.detach(id);
                id
            }
            NodeOrText::AppendText(text) => {
                if self.extend(parent, at, &text) {
                    return;
                }
                self.push(Kind::Text(text.to_string()), nameless())
            }
        };
        let mut nodes = self.nodes.borrow_mut();
        if let Some(node) = nodes.get_mut(child) {
            node.parent = Some(parent);
        }
        if let Some(parent) = nodes.get_mut(parent) {
            let place = at.and_then(|at| parent.children.iter().position(|id| *id == at));
            let place = place.unwrap_or(parent.children.len());
            parent.children.insert(place, child);
        }
    }

    /// Text right after text is one text.
    fn extend(&self, parent: Id, at: Option<Id>, more: &str) -> bool {
        let mut nodes = self.nodes.borrow_mut();
        let Some(siblings) = nodes.get(parent).map(|node| &node.children) else { return false };
        let before = match at {
            None => siblings.last().copied(),
            Some(at) => {
                let place = siblings.iter().position(|id| *id == at);
                place
                    .and_then(|place| place.checked_sub(1))
                    .and_then(|place| siblings.get(place).copied())
            }
        };
        match before.and_then(|id| nodes.get_mut(id)).map(|node| &mut node.kind) {
            Some(Kind::Text(text)) => {
                text.push_str(more);
                true
            }
            Some(Kind::Element { .. } | Kind::Other) | None => false,
        }
    }
}

fn nameless() -> QualName {
    QualName::new(None, ns!(), LocalName::from(""))
}

fn pairs(attributes: Vec<Attribute>) -> Vec<(String, String)> {
    let pair = |it: Attribute| (it.name.local.to_string(), it.value.to_string());
    attributes.into_iter().map(pair).collect()
}

impl TreeSink for Sink {
    type Handle = Id;
    type Output = Tree;
    type ElemName<'a> = OwnName;

    fn finish(self) -> Tree {
        self.document();
        Tree { nodes: self.nodes.into_inner() }
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Id {
        self.document()
    }

    fn elem_name<'a>(&'a self, target: &'a Id) -> OwnName {
        OwnName(self.names.borrow().get(*target).cloned().unwrap_or_else(nameless))
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Id {
        let kind = Kind::Element { name: name.local.to_string(), attributes: pairs(attributes) };
        self.push(kind, name)
    }

    fn create_comment(&self, _: StrTendril) -> Id {
        self.push(Kind::Other, nameless())
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Id {
        self.push(Kind::Other, nameless())
    }

    fn append(&self, parent: &Id, child: NodeOrText<Id>) {
        self.insert(*parent, None, child);
    }

    fn append_based_on_parent_node(&self, element: &Id, previous: &Id, child: NodeOrText<Id>) {
        let has_parent =
            self.nodes.borrow().get(*element).is_some_and(|node| node.parent.is_some());
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Id) -> Id {
        *target
    }

    fn same_node(&self, x: &Id, y: &Id) -> bool {
        x == y
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Id, child: NodeOrText<Id>) {
        let parent = self.nodes.borrow().get(*sibling).and_then(|node| node.parent);
        if let Some(parent) = parent {
            self.insert(parent, Some(*sibling), child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Id, more: Vec<Attribute>) {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(Kind::Element { attributes, .. }) =
            nodes.get_mut(*target).map(|node| &mut node.kind)
        {
            for (name, value) in pairs(more) {
                if !attributes.iter().any(|(known, _)| *known == name) {
                    attributes.push((name, value));
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Id) {
        self.detach(*target);
    }

    fn reparent_children(&self, node: &Id, new_parent: &Id) {
        let moved = {
            let mut nodes = self.nodes.borrow_mut();
            nodes.get_mut(*node).map(|node| std::mem::take(&mut node.children)).unwrap_or_default()
        };
        let mut nodes = self.nodes.borrow_mut();
        for child in &moved {
            if let Some(child) = nodes.get_mut(*child) {
                child.parent = Some(*new_parent);
            }
        }
        if let Some(parent) = nodes.get_mut(*new_parent) {
            parent.children.extend(moved);
        }
    }
}
