//! Controls that are drawn, but that `aria-hidden` keeps out of the accessibility tree: a person can
//! click them, so a model is told of them. Their texts stay out.

use std::collections::HashMap;

use super::Node;
use super::build::is_reference_role;
use super::capture::SeenFrame;
use super::dom::{Dom, Info};
use crate::form::InForm;
use crate::tab::NodeKey;

const NAME_CHARS: usize = 120;

/// The rows of one document.
pub(super) struct Document<'a> {
    pub(super) rows: &'a [Info],
    /// The row of each row's parent; parents come before their children.
    pub(super) parents: &'a [Option<usize>],
    pub(super) ids: &'a [i64],
    /// Rows that listen to clicks.
    pub(super) heard: &'a [usize],
}

/// A control that the accessibility tree does not name.
#[derive(Debug, Clone)]
pub(super) struct HiddenControl {
    frame: String,
    backend: i64,
    /// What it is inside of.
    above: Vec<i64>,
    node: Node,
}

/// The controls below `aria-hidden` that are drawn.
pub(super) fn controls<'s>(
    document: &Document<'_>,
    frame: &str,
    said: &impl Fn(usize) -> &'s str,
) -> Vec<HiddenControl> {
    let Document { rows, parents, ids, heard } = *document;
    let hides = |row: &Info| row.attributes.get("aria-hidden").is_some_and(|word| word == "true");
    if !rows.iter().any(hides) {
        return Vec::new();
    }
    // For each row: whether it is hidden so, and the control that it belongs to.
    let mut states: Vec<(bool, Option<usize>)> = Vec::with_capacity(rows.len());
    let mut names: HashMap<usize, String> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        let above = parents.get(at).copied().flatten().and_then(|at| states.get(at).copied());
        let (is_inside, control) = above.unwrap_or_default();
        let is_hidden = is_inside || hides(row);
        let acts = is_hidden && control.is_none() && row.bounds.is_some() && !row.is_unseen;
        let control =
            control.or_else(|| (acts && is_control(row, heard.contains(&at))).then_some(at));
        if let Some(control) = control {
            let name = names.entry(control).or_default();
            name.push(' ');
            name.push_str(said(at));
        }
        states.push((is_hidden, control));
    }
    let mut found: Vec<_> = names.into_iter().collect();
    found.sort_by_key(|(at, _)| *at);
    let made = found.into_iter().filter_map(|(at, words)| {
        let (row, backend) = (rows.get(at)?, *ids.get(at)?);
        let mut above = Vec::new();
        let mut next = parents.get(at).copied().flatten();
        while let Some(at) = next {
            above.extend(ids.get(at));
            next = parents.get(at).copied().flatten();
        }
        Some(HiddenControl {
            frame: frame.to_owned(),
            backend,
            above,
            node: described(row, &words),
        })
    });
    made.collect()
}

fn is_control(row: &Info, is_heard: bool) -> bool {
    let named = row.attributes.get("role").is_some_and(|role| is_reference_role(role));
    match row.tag.as_str() {
        "BUTTON" | "SELECT" | "TEXTAREA" | "SUMMARY" => true,
        "INPUT" => row.attributes.get("type").is_none_or(|kind| kind != "hidden"),
        "A" => row.attributes.contains_key("href") || is_heard,
        "BODY" | "HTML" => false,
        _ => named || is_heard || row.attributes.contains_key("onclick"),
    }
}

fn described(row: &Info, words: &str) -> Node {
    let attribute = |name: &str| row.attributes.get(name).map(String::as_str);
    let input_type = match row.tag.as_str() {
        "INPUT" => attribute("type").unwrap_or("text").to_ascii_lowercase(),
        _ => String::new(),
    };
    let role = match (row.tag.as_str(), input_type.as_str()) {
        _ if attribute("role").is_some_and(is_reference_role) => {
            attribute("role").unwrap_or("clickable")
        }
        ("INPUT", "button" | "submit" | "reset" | "image") | ("BUTTON", _) => "button",
        ("SUMMARY", _) => "disclosure",
        ("A", _) => "link",
        ("SELECT", _) => "combobox",
        ("INPUT", kind @ ("checkbox" | "radio" | "file")) => kind,
        ("INPUT", "range") => "slider",
        ("INPUT" | "TEXTAREA", _) => "textbox",
        _ => "clickable",
    };
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let given = ["aria-label", "title", "alt", "placeholder"].into_iter().find_map(attribute);
    let pressed = attribute("value").filter(|_| role == "button");
    let name = given.or_else(|| pressed.filter(|_| words.is_empty())).map_or(words, str::to_owned);
    let submits = match row.tag.as_str() {
        "BUTTON" => !matches!(attribute("type"), Some("button" | "reset")),
        _ => matches!(input_type.as_str(), "submit" | "image"),
    };
    let mut states = if attribute("disabled").is_some() { vec!["disabled"] } else { Vec::new() };
    states.push("aria-hidden");
    Node {
        role: role.to_owned(),
        name: name.chars().take(NAME_CHARS).collect(),
        states,
        is_referable: true,
        link: row.attributes.get("href").filter(|_| role == "link").cloned(),
        form: row.form.clone().map(|form| InForm { form, submits }),
        input_type,
        ..Node::default()
    }
}

/// Adds the hidden controls of a frame where they stand in the document.
pub(super) fn add(nodes: &mut Vec<Node>, frame: &SeenFrame, dom: &Dom) {
    for control in dom.hidden.iter().filter(|control| control.frame == frame.id) {
        let mut is_known = false;
        super::visit(nodes, &mut |node| {
            let backend = node.key.as_ref().map(|key| key.backend);
            is_known |= node.is_referable && backend == Some(control.backend);
        });
        if is_known {
            continue;
        }
        let key = NodeKey {
            cdp: frame.cdp.clone(),
            frame: frame.id.clone(),
            loader: frame.loader.clone(),
            backend: control.backend,
        };
        place(nodes, Node { key: Some(key), ..control.node.clone() }, control, dom);
    }
}

fn place(nodes: &mut Vec<Node>, node: Node, control: &HiddenControl, dom: &Dom) {
    let backend = |node: &Node| node.key.as_ref().map(|key| key.backend);
    let holds = |node: &Node| backend(node).is_some_and(|id| control.above.contains(&id));
    if let Some(at) = nodes.iter().position(holds)
        && let Some(holder) = nodes.get_mut(at)
    {
        return place(&mut holder.children, node, control, dom);
    }
    let own = dom.order.get(&control.backend);
    let after = |node: &Node| backend(node).and_then(|id| dom.order.get(&id)) > own;
    let at = nodes.iter().position(after).unwrap_or(nodes.len());
    nodes.insert(at, node);
}
