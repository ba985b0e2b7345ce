//! Nodes as lines of text, compact or full, and lines as parts that fit a model's reading.

use super::Node;
use super::build::MORE;
use super::tidy::words;

const NAME_CHARS: usize = 120;
const VALUE_CHARS: usize = 200;
const TEXT_CHARS: usize = 200;
const TEXT_CHARS_FULL: usize = 2_000;
const QUERY_CHARS: usize = 200;
const SIMILAR_MAX: usize = 30;
const SIMILAR_SHOWN: usize = 10;

/// A line with its depth.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) depth: usize,
    pub(super) text: String,
    pub(super) has_reference: bool,
}

/// A text in quotes on one line, cut with a count of what is missing.
pub(super) fn quoted(text: &str, chars: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = text.chars().count();
    if count <= chars {
        return serde_json::Value::from(text).to_string();
    }
    let head: String = text.chars().take(chars).collect();
    format!("{}…+{}", serde_json::Value::from(head), count - chars)
}

/// All lines of a page.
pub(super) fn lines(nodes: &[Node], full: bool, host: &str) -> Vec<Line> {
    written(nodes, (full, !full), host)
}

/// All lines of a page, also those of long runs.
pub(super) fn every_line(nodes: &[Node], full: bool, host: &str) -> Vec<Line> {
    written(nodes, (full, false), host)
}

fn written(nodes: &[Node], (full, shortens): (bool, bool), host: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut writer = Writer { full, shortens, host, lines: &mut lines };
    writer.list(nodes, 0, None);
    lines
}

/// The line of one node alone.
pub(super) fn line(node: &Node, full: bool, host: &str) -> String {
    let mut lines = Vec::new();
    Writer { full, shortens: false, host, lines: &mut lines }.line_of(node)
}

struct Writer<'a> {
    full: bool,
    /// Whether long runs of alike siblings are cut.
    shortens: bool,
    host: &'a str,
    lines: &'a mut Vec<Line>,
}

impl Writer<'_> {
    fn list(&mut self, nodes: &[Node], depth: usize, parent: Option<u32>) {
        let mut at = 0;
        while let Some(node) = nodes.get(at) {
            let run = nodes
                .get(at..)
                .unwrap_or_default()
                .iter()
                .take_while(|next| alike(node, next))
                .count();
            if self.shortens && run > SIMILAR_MAX {
                for node in nodes.iter().skip(at).take(SIMILAR_SHOWN) {
                    self.node(node, depth, parent);
                }
                let root = parent.map_or_else(
                    || "browser_snapshot full=true".to_owned(),
                    |number| format!("browser_snapshot root=@e{number} full=true"),
                );
                let text = format!("…+{} similar ({root})", run - SIMILAR_SHOWN);
                self.push(depth, &text, false);
                at += run;
            } else {
                self.node(node, depth, parent);
                at += 1;
            }
        }
    }

    fn push(&mut self, depth: usize, text: &str, has_reference: bool) {
        let text = format!("{}- {text}\n", "  ".repeat(depth));
        self.lines.push(Line { depth, text, has_reference });
    }

    fn node(&mut self, node: &Node, depth: usize, parent: Option<u32>) {
        let below = node.reference.or(parent);
        if node.role == "text" {
            if node.is_unseen && !self.full {
                return;
            }
            let most = if self.full { TEXT_CHARS_FULL } else { TEXT_CHARS };
            let unseen = if node.is_unseen { " unseen" } else { "" };
            let text = format!("text{unseen}: {}", quoted(&node.name, most));
            return self.push(depth, &text, false);
        }
        if node.role == "row" {
            return self.row(node, depth, below);
        }
        if !self.shows(node) {
            return self.list(&node.children, depth, parent);
        }
        let mut text = self.line_of(node);
        let is_live = matches!(node.role.as_str(), "status" | "alert" | "log" | "timer");
        let mut inside = node.children.as_slice();
        let all = words(&node.children);
        if is_live && !all.is_empty() && !has_reference(&node.children) {
            text.push_str(": ");
            text.push_str(&quoted(&all, if self.full { TEXT_CHARS_FULL } else { TEXT_CHARS }));
            inside = &[];
        }
        self.push(depth, &text, node.reference.is_some());
        self.list(inside, depth + 1, below);
    }

    /// Whether a node is worth a line of its own.
    fn shows(&self, node: &Node) -> bool {
        if node.reference.is_some() || node.is_referable {
            return true;
        }
        let named = !node.name.is_empty();
        match node.role.as_str() {
            "heading" => named || !node.children.is_empty(),
            "table" | "grid" | "treegrid" | "dialog" | "alertdialog" => true,
            "status" | "alert" | "log" | "timer" => {
                self.full || !words(&node.children).is_empty() || has_reference(&node.children)
            }
            "img" => named && !node.is_unseen,
            "banner" | "navigation" | "main" | "complementary" | "contentinfo" | "region"
            | "form" | "search" | "article" | "menu" | "menubar" | "tablist" | "toolbar"
            | "group" | "radiogroup" | "tree" | "progressbar" | "meter" | "math" | "figure"
            | "tabpanel" => named || (self.full && node.role != "group"),
            "list" | "listitem" | "paragraph" | "blockquote" | "code" | "term" | "definition" => {
                self.full
            }
            _ => false,
        }
    }

    fn line_of(&self, node: &Node) -> String {
        if node.role == MORE {
            let from = node.reference.map(|number| format!(" (browser_snapshot root=@e{number})"));
            return format!("…+{} more{}", node.name, from.unwrap_or_default());
        }
        let mut text = node.role.clone();
        if !node.name.is_empty() {
            text.push(' ');
            text.push_str(&quoted(&node.name, NAME_CHARS));
        }
        if let Some(level) = node.level {
            text.push_str(" h");
            text.push_str(&level.to_string());
        }
        if let Some(number) = node.reference {
            text.push_str(" @e");
            text.push_str(&number.to_string());
        }
        for word in
            node.states.iter().map(|state| (*state).to_owned()).chain(node.attributes.clone())
        {
            text.push(' ');
            text.push_str(&word);
        }
        if let Some(value) = &node.value {
            text.push_str(" = ");
            text.push_str(&quoted(value, VALUE_CHARS));
        }
        if let Some(link) = node.link.as_deref().and_then(|link| self.link(link)) {
            text.push_str(" → ");
            text.push_str(&link);
        }
        text
    }

    /// Compact: the host when it is another one. Full: the address.
    fn link(&self, link: &str) -> Option<String> {
        if self.full {
            let long = link.chars().count() > QUERY_CHARS;
            return Some(if long {
                link.chars().take(QUERY_CHARS).chain(['…']).collect()
            } else {
                link.to_owned()
            });
        }
        let url = petasos_net::Url::parse(link).ok()?;
        let host = url.host_str()?;
        (host != self.host).then(|| host.to_owned())
    }

    fn row(&mut self, node: &Node, depth: usize, parent: Option<u32>) {
        let mut cells = Vec::new();
        let mut acting = Vec::new();
        for cell in &node.children {
            let said = words(&cell.children);
            let said = if said.is_empty() { cell.name.clone() } else { said };
            cells.push(quoted(&said, TEXT_CHARS));
            if has_reference(std::slice::from_ref(cell)) {
                acting.push(cell);
            }
        }
        let mut text = "row".to_owned();
        if let Some(number) = node.reference {
            text.push_str(" @e");
            text.push_str(&number.to_string());
        }
        for state in &node.states {
            text.push(' ');
            text.push_str(state);
        }
        if !cells.is_empty() {
            text.push_str(": ");
            text.push_str(&cells.join(" | "));
        }
        self.push(depth, &text, node.reference.is_some());
        for cell in acting {
            let mut inside = Vec::new();
            references(std::slice::from_ref(cell), &mut inside);
            for node in inside {
                self.node(node, depth + 1, parent);
            }
        }
    }
}

/// The outermost nodes with references.
fn references<'n>(nodes: &'n [Node], into: &mut Vec<&'n Node>) {
    for node in nodes {
        if node.reference.is_some() {
            into.push(node);
        } else {
            references(&node.children, into);
        }
    }
}

fn has_reference(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| node.reference.is_some() || has_reference(&node.children))
}

/// Siblings of one kind: the same role and about the same insides.
fn alike(first: &Node, next: &Node) -> bool {
    first.role == next.role
        && first.role != "text"
        && first.children.len().abs_diff(next.children.len()) <= 1
}

/// The lines with these words, each below the lines it stands under.
pub(super) fn found(lines: &[Line], wanted: &str) -> Vec<Line> {
    let wanted = wanted.to_lowercase();
    let mut kept = Vec::new();
    let mut above: Vec<(Line, bool)> = Vec::new();
    for line in lines {
        while above.last().is_some_and(|(last, _)| last.depth >= line.depth) {
            above.pop();
        }
        if line.text.to_lowercase().contains(&wanted) {
            for (ancestor, is_shown) in &mut above {
                if !*is_shown {
                    kept.push(ancestor.clone());
                    *is_shown = true;
                }
            }
            kept.push(line.clone());
            above.push((line.clone(), true));
        } else {
            above.push((line.clone(), false));
        }
    }
    kept
}

/// Texts of at most so many characters, cut where a line stands least deep.
pub(super) fn parts(lines: &[Line], chars_max: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut from = 0;
    while from < lines.len() {
        let mut size = 0;
        let mut to = from;
        while let Some(line) = lines.get(to) {
            let length = line.text.chars().count();
            if to > from && size + length > chars_max {
                break;
            }
            size += length;
            to += 1;
        }
        if to < lines.len() {
            let early = from + (to - from) * 4 / 5;
            let range = lines.get(early + 1..=to).unwrap_or_default();
            let best =
                range.iter().enumerate().min_by_key(|(at, line)| (line.depth, usize::MAX - at));
            to = best.map_or(to, |(at, _)| early + 1 + at);
        }
        let part = lines.get(from..to).unwrap_or_default();
        parts.push(part.iter().map(|line| line.text.as_str()).collect());
        from = to.max(from + 1);
    }
    if parts.is_empty() {
        parts.push(String::new());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(depth: usize, text: &str) -> Line {
        Line { depth, text: format!("{}- {text}\n", "  ".repeat(depth)), has_reference: false }
    }

    #[test]
    fn parts_add_up_to_the_whole_and_keep_their_size() {
        let lines: Vec<Line> =
            (0..500).map(|n| line(n % 4, &format!("text: \"line {n}\""))).collect();
        let parts = parts(&lines, 1000);
        let whole: String = lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(parts.concat(), whole);
        assert!(parts.len() > 5 && parts.iter().all(|part| part.chars().count() <= 1000));
    }

    #[test]
    fn found_lines_keep_their_ancestors() {
        let lines = [
            line(0, "form \"A\""),
            line(1, "button \"Go\""),
            line(0, "form \"B\""),
            line(1, "text: \"x\""),
        ];
        let found: Vec<String> = found(&lines, "GO").into_iter().map(|line| line.text).collect();
        assert_eq!(found, ["- form \"A\"\n", "  - button \"Go\"\n"]);
    }

    #[test]
    fn long_texts_say_how_much_is_missing() {
        assert_eq!(quoted("a  b\n c", 10), "\"a b c\"");
        assert_eq!(quoted(&"é".repeat(12), 10), format!("\"{}\"…+2", "é".repeat(10)));
    }
}
