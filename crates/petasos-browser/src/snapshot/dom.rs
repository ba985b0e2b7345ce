//! The picture of a document that the browser gives in columns, read into rows: tags, attributes,
//! boxes and styles of every element.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::hidden::{self, HiddenControl};
use crate::events::text;
use crate::form::{self, FormInfo};

/// A frame with more nodes is not asked for at once: that takes longer than anybody waits.
pub(super) const LARGE: usize = 20_000;

/// What the picture of the document says of one element.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact that the picture tells")]
pub(super) struct Info {
    pub(super) tag: String,
    pub(super) attributes: HashMap<String, String>,
    pub(super) input: Option<String>,
    pub(super) bounds: Option<[f64; 4]>,
    pub(super) is_clickable: bool,
    pub(super) is_unseen: bool,
    /// Whether what is inside cannot be seen either.
    pub(super) hides: bool,
    pub(super) link: Option<String>,
    /// The form that it is in.
    pub(super) form: Option<Arc<FormInfo>>,
}

/// The document of one target.
#[derive(Debug, Default)]
pub(super) struct Dom {
    pub(super) infos: HashMap<i64, Info>,
    pub(super) scrolled: (f64, f64),
    /// The place of each node in its document, by which those of one can be put in order.
    pub(super) order: HashMap<i64, usize>,
    /// How many nodes each frame has.
    pub(super) sizes: HashMap<String, usize>,
    /// The texts of frames that are too large to be asked for whole.
    pub(super) texts: Vec<(i64, String)>,
    pub(super) hidden: Vec<HiddenControl>,
}

impl Dom {
    /// Reads the columns of the picture into rows.
    pub(super) fn read(picture: &Value) -> Self {
        let strings: Vec<&str> =
            picture["strings"].as_array().into_iter().flatten().map(text).collect();
        let word = |value: &Value| -> &str {
            let at = value.as_i64().and_then(|at| usize::try_from(at).ok());
            at.and_then(|at| strings.get(at)).copied().unwrap_or_default()
        };
        let mut dom = Self::default();
        for (number, document) in picture["documents"].as_array().into_iter().flatten().enumerate()
        {
            let scroll = document["scrollOffsetY"].as_f64().unwrap_or(0.0);
            let size = [&document["contentWidth"], &document["contentHeight"]]
                .map(|side| side.as_f64().unwrap_or(f64::MAX));
            if number == 0 {
                dom.scrolled = (scroll, size[1]);
            }
            let nodes = &document["nodes"];
            let ids = numbers(&nodes["backendNodeId"]);
            let mut rows: Vec<Info> = Vec::with_capacity(ids.len());
            for at in 0..ids.len() {
                let mut info =
                    Info { tag: word(&nodes["nodeName"][at]).to_owned(), ..Info::default() };
                let pairs =
                    nodes["attributes"][at].as_array().map(Vec::as_slice).unwrap_or_default();
                for pair in pairs.chunks(2) {
                    if let [name, value] = pair {
                        info.attributes.insert(word(name).to_owned(), word(value).to_owned());
                    }
                }
                rows.push(info);
            }
            let frame = word(&document["frameId"]).to_owned();
            let mut heard = Vec::new();
            for index in numbers(&nodes["isClickable"]["index"]) {
                let at = usize::try_from(index).ok();
                if let Some((at, row)) = at.and_then(|at| Some((at, rows.get_mut(at)?))) {
                    row.is_clickable = true;
                    heard.push(at);
                }
            }
            for column in ["inputValue", "textValue"] {
                let (indexes, values) = (numbers(&nodes[column]["index"]), &nodes[column]["value"]);
                for (at, index) in indexes.into_iter().enumerate() {
                    if let Some(row) = usize::try_from(index).ok().and_then(|at| rows.get_mut(at)) {
                        row.input = Some(word(&values[at]).to_owned());
                    }
                }
            }
            layout(document, &mut rows, &word, size);
            let parents = parents(nodes);
            in_forms(&parents, &mut rows);
            let said = |at: usize| word(&nodes["nodeValue"][at]);
            let here =
                hidden::Document { rows: &rows, parents: &parents, ids: &ids, heard: &heard };
            dom.hidden.extend(hidden::controls(&here, &frame, &said));
            if ids.len() > LARGE {
                dom.texts.extend(texts(&ids, &said));
            }
            dom.order.extend(ids.iter().enumerate().map(|(at, id)| (*id, at)));
            dom.sizes.insert(frame, ids.len());
            for (id, mut row) in ids.into_iter().zip(rows) {
                row.link =
                    row.attributes.get("href").or_else(|| row.attributes.get("src")).cloned();
                dom.infos.insert(id, row);
            }
        }
        dom
    }
}

/// The texts of a document, by their nodes.
fn texts<'s>(ids: &[i64], said: &impl Fn(usize) -> &'s str) -> Vec<(i64, String)> {
    let all = ids.iter().enumerate().map(|(at, id)| (*id, said(at)));
    all.filter(|(_, said)| !said.trim().is_empty())
        .map(|(id, said)| (id, said.to_owned()))
        .collect()
}

/// The row of each row's parent.
fn parents(nodes: &Value) -> Vec<Option<usize>> {
    numbers(&nodes["parentIndex"]).into_iter().map(|at| usize::try_from(at).ok()).collect()
}

/// Which form each element is in.
fn in_forms(parents: &[Option<usize>], rows: &mut [Info]) {
    let tags: Vec<_> = rows.iter().map(|row| (row.tag.as_str(), &row.attributes)).collect();
    let found = form::forms(&tags, parents);
    for (row, form) in rows.iter_mut().zip(found) {
        row.form = form;
    }
}

/// Boxes and styles.
fn layout<'s>(
    document: &Value,
    rows: &mut [Info],
    word: &impl Fn(&Value) -> &'s str,
    size: [f64; 2],
) {
    let layout = &document["layout"];
    for (at, index) in numbers(&layout["nodeIndex"]).into_iter().enumerate() {
        let Some(row) = usize::try_from(index).ok().and_then(|at| rows.get_mut(at)) else {
            continue;
        };
        let sides: Vec<f64> = layout["bounds"][at]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_f64)
            .collect();
        let Ok(bounds) = <[f64; 4]>::try_from(sides) else { continue };
        row.bounds = Some(bounds);
        let style = |n: usize| word(&layout["styles"][at][n]);
        let [x, y, width, height] = bounds;
        let number = |n: usize| style(n).trim_end_matches("px").parse::<f64>().ok();
        let is_clipped = matches!(
            style(4),
            "inset(100%)" | "inset(50%)" | "circle(0px)" | "circle(0px at 50% 50%)"
        );
        let is_outside = x + width <= 0.0 || y + height <= 0.0 || x >= size[0].max(1.0);
        let is_clear = number(1).is_some_and(|opacity| opacity <= 0.01);
        // A box without a side may hold what is placed outside of it, unless it cuts that off.
        let is_flat = width <= 1.0 || height <= 1.0;
        row.hides = is_clear || is_clipped || (is_flat && style(5) != "visible");
        row.is_unseen = row.hides
            || number(3).is_some_and(|font| font <= 0.5)
            || (width <= 1.0 && height <= 1.0)
            || (is_outside && width > 0.0 && height > 0.0);
        row.is_clickable |= style(0) == "pointer";
    }
}

fn numbers(value: &Value) -> Vec<i64> {
    value.as_array().into_iter().flatten().filter_map(Value::as_i64).collect()
}
