//! A picked part of a document as Markdown: headings, lists, GFM tables, fenced code, absolute links.

use petasos_net::Url;

use super::article::{Picked, is_template};
use super::tree::{Id, Tree};

const DEPTH_MAX: usize = 200;
const COLUMNS_MAX: usize = 20;

/// Writes what was picked.
pub(super) fn write(tree: &Tree, picked: &Picked, base: &Url) -> String {
    let writer = Writer { tree, picked, base };
    let mut blocks = Vec::new();
    for root in &picked.roots {
        writer.block(*root, &mut blocks, 0);
    }
    let text = blocks.iter().map(|block| block.trim_end()).filter(|block| !block.is_empty());
    text.collect::<Vec<_>>().join("\n\n")
}

/// The visible text of a document that is too large to be parsed.
pub(super) fn stripped(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let lower = after.get(..7).unwrap_or(after).to_ascii_lowercase();
        let end = ["script", "style"].iter().find(|name| lower.starts_with(**name));
        let behind = match end {
            Some(name) => after.split_once(&format!("</{name}")).map_or("", |(_, behind)| behind),
            None => after,
        };
        rest = behind.split_once('>').map_or("", |(_, behind)| behind);
        text.push(' ');
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

struct Writer<'a> {
    tree: &'a Tree,
    picked: &'a Picked,
    base: &'a Url,
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "p" | "div"
            | "section"
            | "article"
            | "main"
            | "header"
            | "footer"
            | "aside"
            | "body"
            | "html"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "ul"
            | "ol"
            | "dl"
            | "dt"
            | "dd"
            | "li"
            | "table"
            | "pre"
            | "blockquote"
            | "hr"
            | "figure"
            | "figcaption"
            | "details"
            | "summary"
            | "address"
            | "fieldset"
            | "center"
            | "tbody"
            | "thead"
            | "tr"
            | "td"
            | "th"
            | "caption"
            | "video"
            | "audio"
    )
}

impl Writer<'_> {
    /// Adds the blocks of an element.
    fn block(&self, id: Id, blocks: &mut Vec<String>, depth: usize) {
        if self.picked.dropped.contains(&id) || depth > DEPTH_MAX {
            return;
        }
        let name = self.tree.name(id);
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.get(1..).and_then(|digit| digit.parse().ok()).unwrap_or(1);
                let text = self.inline(id);
                if !text.is_empty() {
                    blocks.push(format!("{} {text}", "#".repeat(level)));
                }
            }
            "pre" => blocks.push(self.code(id)),
            "ul" | "ol" => blocks.push(self.list(id, name == "ol", depth)),
            "dl" => blocks.push(self.definitions(id)),
            "table" => self.table(id, blocks, depth),
            "hr" => blocks.push("---".to_owned()),
            "blockquote" => {
                let inside = self.inside(id, depth);
                let quoted: Vec<String> =
                    inside.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
                blocks.push(quoted.join("\n"));
            }
            "p" | "figcaption" | "summary" | "address" | "dt" | "caption"
                if !self.holds_block(id) =>
            {
                blocks.push(self.inline(id));
            }
            _ => self.mixed(id, blocks, depth),
        }
    }

    fn holds_block(&self, id: Id) -> bool {
        self.tree.children(id).iter().any(|child| {
            is_block(self.tree.name(*child))
                || (self.tree.name(*child) != "a" && self.holds_block(*child))
        })
    }

    /// An element with blocks and text beside each other: runs of text become paragraphs.
    fn mixed(&self, id: Id, blocks: &mut Vec<String>, depth: usize) {
        let mut run = String::new();
        for child in self.tree.children(id) {
            let name = self.tree.name(*child);
            let is_inline = self.tree.text_of(*child).is_some()
                || !(is_block(name) || self.holds_block(*child));
            if is_inline {
                self.piece(*child, &mut run);
            } else {
                blocks.push(tidy(&std::mem::take(&mut run)));
                self.block(*child, blocks, depth + 1);
            }
        }
        blocks.push(tidy(&run));
    }

    fn inside(&self, id: Id, depth: usize) -> String {
        let mut blocks = Vec::new();
        self.mixed(id, &mut blocks, depth + 1);
        blocks.retain(|block| !block.trim().is_empty());
        blocks.join("\n\n")
    }

    /// The inline text of an element on one line.
    fn inline(&self, id: Id) -> String {
        let mut text = String::new();
        for child in self.tree.children(id) {
            self.piece(*child, &mut text);
        }
        tidy(&text)
    }

    fn piece(&self, id: Id, into: &mut String) {
        if self.picked.dropped.contains(&id) {
            return;
        }
        if let Some(text) = self.tree.text_of(id) {
            into.push_str(&text.replace(['\n', '\t', '\r'], " "));
            return;
        }
        let wrap = |mark: &str, into: &mut String| {
            let inside = self.inline(id);
            if !inside.is_empty() {
                into.push_str(mark);
                into.push_str(&inside);
                into.push_str(mark);
            }
        };
        match self.tree.name(id) {
            "br" => into.push('\n'),
            "strong" | "b" => wrap("**", into),
            "em" | "i" => wrap("*", into),
            "del" | "s" => wrap("~~", into),
            "code" | "kbd" | "samp" | "tt" => wrap("`", into),
            "a" => into.push_str(&self.link(id)),
            "img" => into.push_str(&self.image(id)),
            "math" => into.push_str(&self.formula(id)),
            "sup" => {
                let inside = self.inline(id);
                let is_power = !inside.contains("](") && !inside.is_empty();
                if is_power {
                    into.push('^');
                }
                into.push_str(&inside);
            }
            "script" | "style" | "noscript" => {}
            "template" if is_template(self.tree, id) => {}
            name => {
                for child in self.tree.children(id) {
                    self.piece(*child, into);
                }
                if is_block(name) {
                    into.push(' ');
                }
            }
        }
    }

    fn link(&self, id: Id) -> String {
        let text = self.inline(id);
        let target = self.tree.attribute(id, "href").unwrap_or_default();
        let is_plain =
            target.is_empty() || target.starts_with('#') || target.starts_with("javascript:");
        match self.base.join(target) {
            Ok(url) if !is_plain && !text.is_empty() => format!("[{text}]({url})"),
            Ok(_) | Err(_) => text,
        }
    }

    fn image(&self, id: Id) -> String {
        let alt = self.tree.attribute(id, "alt").unwrap_or_default().trim();
        let source = self.tree.attribute(id, "src").or_else(|| self.tree.attribute(id, "data-src"));
        match source {
            Some(source) if source.starts_with("data:") => format!("[IMAGE: {alt}]"),
            Some(source) if !alt.is_empty() => match self.base.join(source) {
                Ok(url) => format!("![{alt}]({url})"),
                Err(_) => String::new(),
            },
            Some(_) | None => String::new(),
        }
    }

    /// A formula from its source text, where it has one.
    fn formula(&self, id: Id) -> String {
        let source = self.tree.below(id).find(|below| self.tree.name(*below) == "annotation");
        let text =
            |id: Id| self.tree.below(id).filter_map(|id| self.tree.text_of(id)).collect::<String>();
        match source {
            Some(source) => format!("${}$", text(source).trim()),
            None => self
                .tree
                .attribute(id, "alttext")
                .map_or_else(|| tidy(&text(id)), |alt| format!("${alt}$")),
        }
    }

    fn code(&self, id: Id) -> String {
        let text: String = self
            .tree
            .below(id)
            .filter(|below| {
                !self.picked.dropped.contains(below) || self.tree.text_of(*below).is_some()
            })
            .filter_map(|below| {
                if self.tree.name(below) == "br" { Some("\n") } else { self.tree.text_of(below) }
            })
            .collect();
        let classes = self.tree.below(id).filter_map(|below| self.tree.attribute(below, "class"));
        let language = classes
            .flat_map(str::split_whitespace)
            .find_map(|class| {
                class.strip_prefix("language-").or_else(|| class.strip_prefix("lang-"))
            })
            .unwrap_or_default()
            .to_owned();
        let fence = if text.contains("```") { "````" } else { "```" };
        format!("{fence}{language}\n{}\n{fence}", text.trim_matches('\n').trim_end())
    }

    fn list(&self, id: Id, is_ordered: bool, depth: usize) -> String {
        let mut lines = Vec::new();
        let mut number: usize =
            self.tree.attribute(id, "start").and_then(|start| start.parse().ok()).unwrap_or(1);
        for item in self.tree.children(id) {
            if self.tree.name(*item).is_empty() || self.picked.dropped.contains(item) {
                continue;
            }
            let inside = self.inside(*item, depth);
            if inside.trim().is_empty() {
                continue;
            }
            let mark = if is_ordered { format!("{number}. ") } else { "- ".to_owned() };
            number += 1;
            let indent = " ".repeat(mark.len());
            let tight = inside.replace("\n\n- ", "\n- ").replace("\n\n1. ", "\n1. ");
            for (at, line) in tight.lines().enumerate() {
                let start = if at == 0 { mark.as_str() } else { indent.as_str() };
                lines.push(format!("{start}{line}").trim_end().to_owned());
            }
        }
        lines.join("\n")
    }

    fn definitions(&self, id: Id) -> String {
        let mut lines = Vec::new();
        for child in self.tree.below(id).skip(1) {
            if self.picked.dropped.contains(&child) {
                continue;
            }
            match self.tree.name(child) {
                "dt" => lines.push(format!("**{}**", self.inline(child))),
                "dd" => lines.push(format!(": {}", self.inside(child, 0).replace('\n', " "))),
                _ => {}
            }
        }
        lines.join("\n")
    }

    fn table(&self, id: Id, blocks: &mut Vec<String>, depth: usize) {
        let rows: Vec<Vec<Id>> = self
            .tree
            .below(id)
            .filter(|row| self.tree.name(*row) == "tr" && !self.picked.dropped.contains(row))
            .map(|row| {
                let cells = self.tree.children(row).iter().copied();
                cells.filter(|cell| matches!(self.tree.name(*cell), "td" | "th")).collect()
            })
            .filter(|cells: &Vec<Id>| !cells.is_empty())
            .collect();
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let is_nested = self.tree.below(id).skip(1).any(|below| self.tree.name(below) == "table");
        if columns < 2 || is_nested || columns > COLUMNS_MAX {
            for cell in rows.into_iter().flatten() {
                self.mixed(cell, blocks, depth + 1);
            }
            return;
        }
        let caption =
            self.tree.children(id).iter().find(|child| self.tree.name(**child) == "caption");
        blocks.extend(caption.map(|caption| self.inline(*caption)));
        let mut lines = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let mut cells: Vec<String> = row
                .iter()
                .map(|cell| self.inside(*cell, depth).replace('\n', " ").replace('|', "\\|"))
                .collect();
            cells.resize(columns, String::new());
            lines.push(format!("| {} |", cells.join(" | ")));
            if at == 0 {
                lines.push(format!("|{}", " --- |".repeat(columns)));
            }
        }
        blocks.push(lines.join("\n"));
    }
}

/// Blanks on each line become one.
fn tidy(text: &str) -> String {
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
