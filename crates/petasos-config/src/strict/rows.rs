//! Rows of the provider table as a user writes them, in `provider_rows` or providers.yaml.
//!
//! A row says where keys go, so that a field nobody knows refuses the start instead of being
//! passed over. What the fields mean is the providers' business.

use std::path::Path;

use serde_json::{Map, Value};

use super::{Checked, Leaf, Walk, fit};
use crate::error::Position;
use crate::keys::{self, Kind};
use crate::mask;
use crate::yaml::{Content, Document, Entry, Node};

/// The key that rows belong to.
pub(super) const KEY: &str = "provider_rows";

const DIALECTS: Kind = Kind::Choice(&[
    "chat_completions",
    "anthropic_messages",
    "codex_responses",
    "bedrock_converse",
    "codex_app_server",
]);
const AUTH: Kind =
    Kind::Choice(&["api_key", "device_code", "external", "process", "aws", "vertex", "virtual"]);

/// Every field of a row and what fits it.
const FIELDS: &[(&str, Kind)] = &[
    ("id", Kind::Text),
    ("name", Kind::Text),
    ("display_name", Kind::Text),
    ("aliases", Kind::Names),
    ("auth", AUTH),
    ("auth_type", AUTH),
    ("api_mode", DIALECTS),
    ("base_url", Kind::Text),
    ("base_url_env", Kind::Names),
    ("key_env", Kind::Names),
    ("key_hosts", Kind::Names),
    ("token_hosts", Kind::Names),
    ("aggregator", Kind::Flag),
    ("rank", Kind::Integer),
    ("auto_detect_rank", Kind::Integer),
    ("models_dev_id", Kind::Text),
    ("default_model", Kind::Text),
    ("aux_model", Kind::Text),
    ("vision_model", Kind::Text),
    ("reasoning_field", Kind::Text),
    ("default_max_tokens", Kind::Integer),
    ("headers", Kind::Map),
    ("default_headers", Kind::Map),
];

/// Checks providers.yaml: a list of rows, or a map whose `providers` is that list.
pub(crate) fn check_rows<'a>(
    document: &Document,
    file: &'a Path,
    lookup: &'a dyn Fn(&str) -> Option<&'a str>,
) -> Checked {
    let path = vec![KEY.to_owned()];
    let mut walk = Walk { file, lookup, found: Checked::default(), path };
    let Some(root) = document.root.as_ref().filter(|root| !root.is_null()) else {
        return walk.found;
    };
    let Content::Map { entries, .. } = &root.content else {
        walk.rows(root);
        return walk.found;
    };
    for entry in entries {
        match entry.name.as_str() {
            "providers" | KEY => walk.rows(&entry.value),
            // The table this file changes carries one; it says nothing about a row.
            "version" => {}
            other => {
                let what = format!("`{other}` is not a part of this file");
                walk.problem(entry.at, what, "write the rows as a list below `providers:`");
            }
        }
    }
    walk.found
}

impl Walk<'_> {
    /// A list of rows as one leaf.
    pub(super) fn rows(&mut self, node: &Node) {
        let Content::List { items, .. } = &node.content else {
            if !node.is_null() {
                self.misfit(node, "a list of rows");
            }
            return;
        };
        let (mut values, mut shown) = (Vec::new(), Vec::new());
        for item in items {
            if let Some((value, show)) = self.row(item) {
                values.push(value);
                shown.push(show);
            }
        }
        let path = vec![KEY.to_owned()];
        let (value, shown) = (Value::Array(values), Value::Array(shown));
        self.found.leaves.push(Leaf { path, value, shown });
    }

    fn row(&mut self, node: &Node) -> Option<(Value, Value)> {
        let Content::Map { entries, .. } = &node.content else {
            self.misfit(node, "a list of rows, each a map with an `id`");
            return None;
        };
        let id = entries.iter().find(|entry| entry.name == "id").and_then(|entry| {
            match &entry.value.content {
                Content::Scalar(scalar) => Some(scalar.text.trim()).filter(|id| !id.is_empty()),
                Content::List { .. } | Content::Map { .. } => None,
            }
        });
        let Some(id) = id else {
            self.problem(node.at, "a row has no `id`".to_owned(), "name the provider: `id: acme`");
            return None;
        };
        let mut row = Map::new();
        for entry in entries.iter().filter(|entry| !entry.value.is_null()) {
            if let Some(value) = self.field(id, entry) {
                row.insert(entry.name.clone(), value);
            }
        }
        let mut path = vec![KEY.to_owned()];
        let value = Value::Object(row);
        let shown = mask::masked(&mut path, &value);
        Some((value, shown))
    }

    fn field(&mut self, id: &str, entry: &Entry) -> Option<Value> {
        let name = entry.name.as_str();
        let Some((_, kind)) = FIELDS.iter().find(|(known, _)| *known == name) else {
            let nearest = keys::nearest(name, FIELDS.iter().map(|(known, _)| *known));
            let hint = nearest.map_or_else(
                || "remove it".to_owned(),
                |nearest| format!("did you mean `{nearest}`?"),
            );
            let what = format!("`{name}` of the provider `{id}` is not a field of a row");
            self.problem(entry.at, what, &hint);
            return None;
        };
        let value = match (kind, &entry.value.content) {
            (_, Content::Scalar(scalar)) => {
                let (scalar, _) = self.filled(scalar, entry.value.at);
                fit::scalar(*kind, &scalar)
            }
            (Kind::Names, Content::List { .. }) => {
                let (value, _) = self.plain(&entry.value);
                let texts = value.as_array().is_some_and(|all| all.iter().all(Value::is_string));
                if texts { Ok(value) } else { Err(fit::expected(*kind)) }
            }
            (Kind::Map, Content::Map { .. }) => {
                let (value, _) = self.plain(&entry.value);
                let texts = value.as_object().is_some_and(|all| all.values().all(Value::is_string));
                if texts { Ok(value) } else { Err("a map of texts".to_owned()) }
            }
            _ => Err(fit::expected(*kind)),
        };
        value.map_err(|expected| self.wrong(id, entry, &expected)).ok()
    }

    fn wrong(&mut self, id: &str, entry: &Entry, expected: &str) {
        let at: Position = entry.value.at;
        let what = format!("`{}` of the provider `{id}` must be {expected}", entry.name);
        let hint = format!("it is {} here", entry.value.shape());
        self.problem(at, what, &hint);
    }
}
