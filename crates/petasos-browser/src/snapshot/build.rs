//! From the browser's trees to nodes: which elements there are, what they are called and in what
//! state, which of them can be acted on, and which only a machine would see.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Node;
use super::capture::SeenFrame;
use super::dom::{Dom, Info};
use super::hidden;
use super::tidy::{control_names, modal_first, tidy};
use crate::events::text;
use crate::form::InForm;
use crate::tab::NodeKey;

/// Deeper than any page that people read.
const DEPTH_MAX: usize = 250;
const NODES_MAX: usize = 20_000;

/// The role of what a walk left out; a look from there goes on with it.
pub(super) const MORE: &str = "more";

/// Makes nodes, frame by frame.
pub(super) struct Builder<'a> {
    doms: &'a HashMap<String, Dom>,
    /// Characters that nobody sees and that were removed.
    pub(super) hidden_chars: usize,
    made: usize,
}

struct Tree<'a> {
    frame: &'a SeenFrame,
    by_id: HashMap<&'a str, &'a Value>,
    dom: Option<&'a Dom>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(doms: &'a HashMap<String, Dom>) -> Self {
        Self { doms, hidden_chars: 0, made: 0 }
    }

    /// The nodes of one frame.
    pub(super) fn frame(&mut self, frame: &SeenFrame) -> Vec<Node> {
        let all = frame.tree["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let by_id = all.iter().map(|node| (text(&node["nodeId"]), node)).collect();
        let Some(root) = all.first() else { return Vec::new() };
        let tree = Tree { frame, by_id, dom: self.doms.get(&frame.cdp) };
        let mut nodes = Vec::new();
        self.node(&tree, root, &mut nodes, (0, false));
        let mut names = HashSet::new();
        control_names(&nodes, &mut names);
        tidy(&mut nodes, &names);
        if let Some(dom) = tree.dom {
            hidden::add(&mut nodes, frame, dom);
        }
        modal_first(nodes)
    }

    /// Adds a node, or its children where it says nothing itself. `depth` and whether an ancestor
    /// is unseen come with it.
    fn node(
        &mut self,
        tree: &Tree<'_>,
        seen: &Value,
        list: &mut Vec<Node>,
        (depth, hidden): (usize, bool),
    ) {
        if depth > DEPTH_MAX || self.made > NODES_MAX {
            return;
        }
        let backend = seen["backendDOMNodeId"].as_i64();
        let info = backend.and_then(|id| tree.dom?.infos.get(&id));
        let unseen = hidden || info.is_some_and(|info| info.is_unseen);
        let raw = text(&seen["role"]["value"]);
        if matches!(raw, "InlineTextBox" | "LineBreak" | "ListMarker") {
            return;
        }
        let mut node = self.described(tree, seen, raw, info);
        if node.role == "text" && matches!(node.name.as_str(), "•" | "◦" | "▪" | "‣") {
            return;
        }
        let hidden = hidden || info.is_some_and(|info| info.hides);
        node.is_unseen = unseen;
        if unseen && node.is_referable {
            node.states.push("unseen");
        }
        if node.role == "text" && unseen {
            node.states.push("unseen");
        }
        let is_dropped = seen["ignored"] == true && !node.is_referable;
        let is_field = matches!(info.map(|info| info.tag.as_str()), Some("INPUT" | "TEXTAREA"));
        let is_leaf = is_field
            || matches!(
                node.role.as_str(),
                "text"
                    | "date"
                    | "time"
                    | "datetime"
                    | "color"
                    | "iframe"
                    | "searchbox"
                    | "spinbutton"
                    | "slider"
                    | "file"
            );
        let mut children = Vec::new();
        if !is_leaf || is_dropped {
            for child in seen["childIds"].as_array().into_iter().flatten() {
                if let Some(child) = tree.by_id.get(text(child)) {
                    self.node(tree, child, &mut children, (depth + 1, hidden));
                }
            }
        }
        children.extend(rest(tree, seen));
        if is_dropped || node.role == "rootwebarea" || node.role.is_empty() {
            list.extend(children);
            return;
        }
        self.made += 1;
        node.children = children;
        list.push(node);
    }

    fn described(&mut self, tree: &Tree<'_>, seen: &Value, raw: &str, info: Option<&Info>) -> Node {
        let properties = Properties::of(seen);
        let attribute =
            |name: &str| info.and_then(|info| info.attributes.get(name)).map(String::as_str);
        let tag = info.map_or("", |info| info.tag.as_str());
        let input_type = if tag == "INPUT" {
            attribute("type").unwrap_or("text").to_ascii_lowercase()
        } else {
            String::new()
        };
        let is_editor = attribute("contenteditable").is_some_and(|value| value != "false")
            && !matches!(tag, "INPUT" | "TEXTAREA");
        let has_box = info.is_some_and(|info| info.bounds.is_some());
        // Chromium before 150 calls a form without a name `generic`; the document says what it is.
        let is_form = tag == "FORM" && attribute("role").is_none();
        let ignored = seen["ignored"] == true;
        let mut role = if is_form { "form".to_owned() } else { role(raw, &input_type) };
        let is_clickable =
            info.is_some_and(|info| info.is_clickable && attribute_click(info)) && has_box;
        if is_editor && has_box {
            "editor".clone_into(&mut role);
        } else if matches!(role.as_str(), "generic" | "none" | "" | "presentation")
            && !ignored
            && (is_clickable
                || (has_box && properties.is("focusable") && attribute("tabindex").is_some()))
        {
            "clickable".clone_into(&mut role);
        }
        // The options of a closed list have no box, and can be chosen all the same.
        let is_referable = (has_box || tag == "OPTION")
            && (!ignored || is_editor)
            && (is_reference_role(&role)
                || (role == "dialog" && properties.is("modal"))
                || (properties.is("focusable") && !is_structure(&role))
                || is_scrollable(&properties));
        let name = self.clean(text(&seen["name"]["value"]));
        let value = self.value(seen, &role, &input_type, info);
        let key = seen["backendDOMNodeId"].as_i64().map(|backend| NodeKey {
            cdp: tree.frame.cdp.clone(),
            frame: tree.frame.id.clone(),
            loader: tree.frame.loader.clone(),
            backend,
        });
        let attributes = self.attributes((&role, &input_type), value.is_none(), &properties, info);
        Node {
            level: properties.number("level").filter(|_| role == "heading"),
            states: states(&properties, &role, &input_type),
            link: link(&role, &properties, info),
            name,
            key,
            is_referable,
            reference: None,
            attributes,
            value,
            input_type,
            is_unseen: false,
            form: info
                .and_then(|info| info.form.clone())
                .map(|form| InForm { form, submits: submits(tag, info) }),
            children: Vec::new(),
            role,
        }
    }

    /// What is told besides states: how full a password is, a placeholder, limits, what opens.
    fn attributes(
        &mut self,
        (role, input_type): (&str, &str),
        is_empty: bool,
        properties: &Properties<'_>,
        info: Option<&Info>,
    ) -> Vec<String> {
        let mut told = Vec::new();
        if input_type == "password" {
            let typed = info.and_then(|info| info.input.as_ref());
            told.push(format!("filled={}", typed.map_or(0, |typed| typed.chars().count())));
        }
        let placeholder = info.and_then(|info| info.attributes.get("placeholder"));
        if let Some(words) = placeholder.filter(|words| !words.trim().is_empty())
            && is_empty
            && input_type != "password"
        {
            told.push(format!("placeholder={}", super::render::quoted(&self.clean(words), 120)));
        }
        if matches!(role, "slider" | "spinbutton") {
            for (name, short) in [("valuemin", "min"), ("valuemax", "max")] {
                told.extend(properties.number(name).map(|limit| format!("{short}={limit}")));
            }
        }
        let popup = properties.word("hasPopup");
        if let Some(popup) = popup.filter(|word| matches!(*word, "menu" | "dialog" | "listbox"))
            && role != "combobox"
        {
            told.push(format!("opens={popup}"));
        }
        told
    }

    fn value(
        &mut self,
        seen: &Value,
        role: &str,
        input_type: &str,
        info: Option<&Info>,
    ) -> Option<String> {
        if input_type == "password" {
            return None;
        }
        let told = match &seen["value"]["value"] {
            Value::String(told) => told.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let typed = info.and_then(|info| info.input.clone()).unwrap_or_default();
        let value =
            if told.is_empty() && matches!(role, "textbox" | "searchbox") { typed } else { told };
        let value = self.clean(&value);
        let shows = matches!(
            role,
            "textbox"
                | "searchbox"
                | "combobox"
                | "slider"
                | "spinbutton"
                | "date"
                | "time"
                | "datetime"
                | "color"
                | "file"
                | "progressbar"
                | "meter"
                | "scrollbar"
        );
        (shows && !value.is_empty()).then_some(value)
    }

    /// Text on one line, without what nobody sees.
    fn clean(&mut self, given: &str) -> String {
        let mut kept = String::with_capacity(given.len());
        for c in given.chars() {
            match c {
                '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}' => self.hidden_chars += 1,
                '\u{ad}' => {}
                c => kept.push(c),
            }
        }
        kept.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// What a walk left out below a node, by the first of it.
fn rest(tree: &Tree<'_>, seen: &Value) -> Option<Node> {
    let (left, next) = (&seen["cut"]["left"], seen["cut"]["next"].as_i64()?);
    let key = NodeKey {
        cdp: tree.frame.cdp.clone(),
        frame: tree.frame.id.clone(),
        loader: tree.frame.loader.clone(),
        backend: next,
    };
    let (role, name) = (MORE.to_owned(), left.to_string());
    Some(Node { role, name, key: Some(key), is_referable: true, ..Node::default() })
}

/// A pointer inherited from a parent that is itself clickable says nothing new.
fn attribute_click(info: &Info) -> bool {
    let named = ["onclick", "role", "tabindex", "data-action", "ng-click", "@click"];
    named.iter().any(|name| info.attributes.contains_key(*name)) || info.is_clickable
}

/// The properties of a node of the accessibility tree.
struct Properties<'a>(HashMap<&'a str, &'a Value>);

impl<'a> Properties<'a> {
    fn of(seen: &'a Value) -> Self {
        let list = seen["properties"].as_array().into_iter().flatten();
        Self(list.map(|property| (text(&property["name"]), &property["value"]["value"])).collect())
    }

    fn is(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| **value == true || **value == "true")
    }

    fn word(&self, name: &str) -> Option<&'a str> {
        self.0.get(name)?.as_str()
    }

    fn number(&self, name: &str) -> Option<u64> {
        let value = self.0.get(name)?;
        value.as_u64().or_else(|| format!("{:.0}", value.as_f64()?).parse().ok())
    }
}

fn is_scrollable(properties: &Properties<'_>) -> bool {
    properties.is("scrollable")
}

/// The role in our words.
fn role(raw: &str, input_type: &str) -> String {
    if input_type == "file" {
        return "file".to_owned();
    }
    match raw {
        "StaticText" => "text".to_owned(),
        "DisclosureTriangle" | "DisclosureTriangleGrouped" => "disclosure".to_owned(),
        "ColorWell" => "color".to_owned(),
        "Date" => "date".to_owned(),
        "InputTime" => "time".to_owned(),
        "DateTime" => "datetime".to_owned(),
        "Iframe" | "IframePresentational" => "iframe".to_owned(),
        "image" | "Image" => "img".to_owned(),
        "MenuListOption" | "ListBoxOption" => "option".to_owned(),
        "MenuListPopup" => "none".to_owned(),
        other => other.to_ascii_lowercase(),
    }
}

pub(super) fn is_reference_role(role: &str) -> bool {
    matches!(
        role,
        "button"
            | "link"
            | "textbox"
            | "searchbox"
            | "checkbox"
            | "radio"
            | "combobox"
            | "listbox"
            | "option"
            | "menuitem"
            | "menuitemcheckbox"
            | "menuitemradio"
            | "slider"
            | "spinbutton"
            | "switch"
            | "tab"
            | "treeitem"
            | "date"
            | "time"
            | "datetime"
            | "color"
            | "file"
            | "disclosure"
            | "canvas"
            | "video"
            | "audio"
            | "iframe"
            | "clickable"
            | "editor"
    )
}

/// Roles that hold others together and are not acted on themselves.
fn is_structure(role: &str) -> bool {
    matches!(role, "rootwebarea" | "text" | "document" | "application" | "none" | "generic")
}

fn states(properties: &Properties<'_>, role: &str, input_type: &str) -> Vec<&'static str> {
    let mut states = Vec::new();
    for (name, word) in
        [("disabled", "disabled"), ("readonly", "readonly"), ("required", "required")]
    {
        if properties.is(name) {
            states.push(word);
        }
    }
    if properties.word("invalid").is_some_and(|word| word != "false") {
        states.push("invalid");
    }
    let ticks =
        matches!(role, "checkbox" | "radio" | "switch" | "menuitemcheckbox" | "menuitemradio");
    match properties.word("checked") {
        Some("true") => states.push("checked"),
        Some("mixed") => states.push("mixed"),
        Some(_) | None if ticks => states.push("unchecked"),
        Some(_) | None => {}
    }
    if properties.is("selected") {
        states.push("selected");
    }
    if properties.word("pressed").is_some_and(|word| word != "false") {
        states.push("pressed");
    }
    match properties.0.get("expanded").and_then(|value| value.as_bool()) {
        Some(true) => states.push("expanded"),
        Some(false) => states.push("collapsed"),
        None => {}
    }
    for (name, word) in [("multiselectable", "multiselect"), ("modal", "modal"), ("busy", "busy")] {
        if properties.is(name) {
            states.push(word);
        }
    }
    if input_type == "password" {
        states.push("password");
    }
    if properties.is("focused") && role != "rootwebarea" {
        states.push("focused");
    }
    states
}

/// Where a link or a picture leads.
fn link(role: &str, properties: &Properties<'_>, info: Option<&Info>) -> Option<String> {
    match role {
        "link" => {
            let told = properties.word("url").map(str::to_owned);
            told.or_else(|| info.and_then(|info| info.link.clone()))
        }
        "img" => {
            let told = properties.word("url").map(str::to_owned);
            told.or_else(|| info.and_then(|info| info.link.clone()))
                .filter(|src| !src.starts_with("data:"))
        }
        _ => None,
    }
}

/// Whether clicking an element sends the form that it is in.
fn submits(tag: &str, info: Option<&Info>) -> bool {
    let kind = info.and_then(|info| info.attributes.get("type")).map(|it| it.to_ascii_lowercase());
    match tag {
        "BUTTON" => !matches!(kind.as_deref(), Some("button" | "reset")),
        "INPUT" => matches!(kind.as_deref(), Some("submit" | "image")),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(role: &str, tag: &str) -> Vec<String> {
        let node = |id: &str, role: &str, more: Value| {
            let mut node = json!({ "nodeId": id, "role": { "value": role }, "childIds": [] });
            node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            node
        };
        let tree = json!({ "nodes": [
            node("1", "RootWebArea", json!({ "childIds": ["2"] })),
            node("2", role, json!({ "childIds": ["3"], "backendDOMNodeId": 20 })),
            node("3", "paragraph", json!({ "childIds": ["4"] })),
            node("4", "StaticText", json!({ "name": { "value": "Name" } })),
        ] });
        let dom = Dom {
            infos: HashMap::from([(20, Info { tag: tag.to_owned(), ..Info::default() })]),
            ..Dom::default()
        };
        let doms = HashMap::from([("c".to_owned(), dom)]);
        let word = |word: &str| word.to_owned();
        let frame = SeenFrame {
            id: word("f"),
            loader: word("l"),
            url: word("u"),
            cdp: word("c"),
            tree,
            owner: None,
        };
        let nodes = Builder::new(&doms).frame(&frame);
        let lines = super::super::render::lines(&nodes, true, "");
        lines.into_iter().map(|line| line.text.trim_end().to_owned()).collect()
    }

    #[test]
    fn a_form_without_a_name_is_one_whatever_the_browser_calls_it() {
        let wanted = ["- form", "  - paragraph", "    - text: \"Name\""];
        assert_eq!(told("form", "FORM"), wanted);
        assert_eq!(told("generic", "FORM"), wanted);
        assert_eq!(told("generic", "DIV"), ["- paragraph", "  - text: \"Name\""]);
    }
}
