//! Shell text to a syntax tree with byte spans. Knows grammar, not meaning.
//!
//! `normalise` removes what a terminal hides, `parse` and `word` build the tree of
//! `tree`. What a tree does is worked out by `flow`.

pub(crate) mod compound;
pub(crate) mod normalise;
pub(crate) mod parameter;
pub(crate) mod parse;
pub(crate) mod redirect;
pub(crate) mod source;
pub(crate) mod tree;
pub(crate) mod word;

pub use source::Span;
pub(crate) use source::{Cut, Source};
