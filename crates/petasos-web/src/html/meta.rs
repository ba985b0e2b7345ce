//! What a document says of itself: title, author, date, language, and the article in its data.

use serde_json::Value;

use super::tree::Tree;

/// What a document says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Its title.
    pub title: Option<String>,
    /// Who wrote it.
    pub byline: Option<String>,
    /// When, as it is written there.
    pub published: Option<String>,
    /// In which language.
    pub lang: Option<String>,
    /// The text of the article in its structured data.
    pub(super) article_body: Option<String>,
}

pub(super) fn of(tree: &Tree) -> Meta {
    let mut meta = Meta::default();
    let mut og_title = None;
    for id in tree.all() {
        match tree.name(id) {
            "title" if meta.title.is_none() => {
                let text: String = tree.below(id).filter_map(|id| tree.text_of(id)).collect();
                meta.title = filled(&text);
            }
            "html" => meta.lang = tree.attribute(id, "lang").and_then(filled),
            "meta" => {
                let key = tree.attribute(id, "property").or_else(|| tree.attribute(id, "name"));
                let content = tree.attribute(id, "content").and_then(filled);
                match key.unwrap_or_default().to_ascii_lowercase().as_str() {
                    "og:title" => og_title = og_title.or(content),
                    "author" | "article:author" | "dc.creator" => {
                        meta.byline = meta.byline.or(content);
                    }
                    "article:published_time" | "date" | "dc.date" | "pubdate" => {
                        meta.published = meta.published.or(content);
                    }
                    _ => {}
                }
            }
            "time" if meta.published.is_none() => {
                meta.published = tree.attribute(id, "datetime").and_then(filled);
            }
            "script" if tree.attribute(id, "type") == Some("application/ld+json") => {
                let text: String = tree.below(id).filter_map(|id| tree.text_of(id)).collect();
                if let Ok(data) = serde_json::from_str::<Value>(&text) {
                    structured(&data, &mut meta, 0);
                }
            }
            _ => {}
        }
    }
    meta.title = og_title.or(meta.title);
    meta
}

fn structured(data: &Value, meta: &mut Meta, depth: usize) {
    if depth > 4 {
        return;
    }
    match data {
        Value::Array(list) => list.iter().for_each(|item| structured(item, meta, depth + 1)),
        Value::Object(map) => {
            let text = |key: &str| map.get(key).and_then(Value::as_str).and_then(filled);
            meta.article_body = meta.article_body.take().or_else(|| text("articleBody"));
            meta.published = meta.published.take().or_else(|| text("datePublished"));
            let author =
                map.get("author").and_then(|author| author.get("name")?.as_str()).and_then(filled);
            meta.byline = meta.byline.take().or(author);
            if let Some(graph) = map.get("@graph") {
                structured(graph, meta, depth + 1);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn filled(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}
