//! What a page says twice is told once: texts merged, labels swallowed, what is on top first.

use std::collections::HashSet;

use super::Node;
use super::build::is_reference_role;

pub(super) fn control_names(nodes: &[Node], names: &mut HashSet<String>) {
    for node in nodes {
        if node.is_referable && !node.name.is_empty() {
            names.insert(node.name.clone());
        }
        control_names(&node.children, names);
    }
}

/// Merges neighbouring texts and drops those that a name repeats.
pub(super) fn tidy(nodes: &mut Vec<Node>, names: &HashSet<String>) {
    let mut merged: Vec<Node> = Vec::with_capacity(nodes.len());
    for mut node in nodes.drain(..) {
        tidy(&mut node.children, names);
        let is_label = node.role == "labeltext" || node.role == "legend";
        if is_label {
            let words = words(&node.children);
            if names.contains(&words) {
                node.children.retain(|child| child.role != "text");
            }
            merged.append(&mut node.children);
            continue;
        }
        // A click target around another one is the same target twice.
        if node.role == "clickable" && node.name.is_empty() {
            let inner = node.children.iter().filter(|child| is_reference_role(&child.role)).count();
            if inner > 0 {
                merged.append(&mut node.children);
                continue;
            }
            node.name = words(&node.children);
        }
        // Structure that has no line of its own keeps its text, or nobody would read it.
        let is_structure = matches!(
            node.role.as_str(),
            "term" | "definition" | "listitem" | "paragraph" | "blockquote" | "code"
        );
        let swallows = !node.name.is_empty()
            && (node.is_referable || !is_structure)
            && words(&node.children) == node.name;
        if swallows {
            drop_text(&mut node.children);
        }
        match merged.last_mut() {
            Some(last)
                if last.role == "text"
                    && node.role == "text"
                    && last.is_unseen == node.is_unseen =>
            {
                last.name.push(' ');
                last.name.push_str(&node.name);
            }
            _ => merged.push(node),
        }
    }
    merged.retain(|node| node.role != "text" || !node.name.is_empty());
    *nodes = merged;
}

fn drop_text(nodes: &mut Vec<Node>) {
    nodes.retain(|node| node.role != "text");
    for node in nodes.iter_mut() {
        drop_text(&mut node.children);
    }
    nodes.retain(|node| {
        node.is_referable
            || !node.children.is_empty()
            || !node.name.is_empty()
            || node.value.is_some()
    });
}

/// All text below, on one line.
pub(super) fn words(nodes: &[Node]) -> String {
    let mut all = Vec::new();
    super::visit(nodes, &mut |node| {
        if node.role == "text" || (node.role == "img" && !node.name.is_empty()) {
            all.push(node.name.clone());
        }
    });
    all.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands above everything else is read first.
pub(super) fn modal_first(mut nodes: Vec<Node>) -> Vec<Node> {
    fn take(nodes: &mut Vec<Node>, taken: &mut Vec<Node>) {
        let mut at = 0;
        while let Some(node) = nodes.get_mut(at) {
            let is_modal = node.states.contains(&"modal");
            if is_modal {
                taken.push(nodes.remove(at));
            } else {
                take(&mut node.children, taken);
                at += 1;
            }
        }
    }
    let mut first = Vec::new();
    take(&mut nodes, &mut first);
    first.append(&mut nodes);
    first
}
