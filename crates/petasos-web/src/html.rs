//! Documents: the tree, the part of it that people came for, and that part as Markdown.

mod article;
mod markdown;
mod meta;
mod tree;

pub use meta::Meta;

use tree::Tree;

/// Larger documents are read as plain text.
const TAGS_MAX: usize = 200_000;

/// A document as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    /// What it says of itself.
    pub meta: Meta,
    /// Its main content.
    pub markdown: String,
    /// Whether it holds almost nothing without its scripts.
    pub needs_scripts: bool,
}

/// Reads a document; links become absolute from `base`.
pub fn read(html: &str, base: &petasos_net::Url) -> Document {
    if html.bytes().filter(|byte| *byte == b'<').count() > TAGS_MAX {
        let markdown = markdown::stripped(html);
        return Document { markdown, ..Document::default() };
    }
    let tree = Tree::parse(html);
    let meta = meta::of(&tree);
    let base = tree.base().and_then(|given| base.join(&given).ok()).unwrap_or_else(|| base.clone());
    let picked = article::pick(&tree);
    let mut markdown = markdown::write(&tree, &picked, &base);
    if markdown.chars().count() < article::ENOUGH
        && let Some(body) = &meta.article_body
    {
        markdown.clone_from(body);
    }
    let needs_scripts =
        markdown.chars().count() < article::ENOUGH && article::is_shell(&tree, html);
    Document { meta, markdown, needs_scripts }
}
