//! Documents: the tree, the part of it that people came for, and that part as Markdown.

mod article;
mod markdown;
mod meta;
mod tree;

pub use meta::Meta;

use tree::Tree;

/// Larger documents are read as plain text.
const TAGS_MAX: usize = 200_000;

/// Documents that nest deeper are read as plain text, too: nobody wrote them for people.
const DEPTH_MAX: usize = 512;

/// Elements that hold nothing, or that the next one of their kind ends.
const FLAT: &str = "area base br col embed hr img input link meta param source track wbr p li dt \
    dd tr td th thead tbody tfoot option optgroup rp rt colgroup html head body caption";

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
    if html.bytes().filter(|byte| *byte == b'<').count() > TAGS_MAX || is_deep(html) {
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

/// Whether elements nest deeper than anybody reads, before any tree is built: one pass over the
/// tags as they are written.
fn is_deep(html: &str) -> bool {
    let mut depth = 0_usize;
    for part in html.split('<').skip(1) {
        let inside = part.strip_prefix('/');
        let tag = inside.unwrap_or(part);
        let name = tag.split(|letter: char| !letter.is_ascii_alphanumeric()).next();
        let name = name.unwrap_or_default();
        let is_flat = FLAT.split_whitespace().any(|flat| flat.eq_ignore_ascii_case(name));
        let is_alone = tag.split('>').next().is_some_and(|tag| tag.ends_with('/'));
        if name.is_empty() || is_flat || is_alone {
            continue;
        }
        depth = if inside.is_some() { depth.saturating_sub(1) } else { depth + 1 };
        if depth > DEPTH_MAX {
            return true;
        }
    }
    false
}
