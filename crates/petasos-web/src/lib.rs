//! The web for a model: pages as Markdown, and search over providers.
//!
//! Its law: what a page says becomes text here and is obeyed nowhere; every request goes through
//! the one way out under its public-only rule; a provider is asked only when it was chosen or its
//! key was given.
//!
//! | file | what it holds |
//! |---|---|
//! | `extract` | one call of `web_extract`: pages beside each other, in order |
//! | `fetch`, `cache` | getting a page, and keeping it with its validators |
//! | `kind`, `charset` | what came, and in which letters |
//! | `html/` | documents: the tree, its main content, Markdown |
//! | `feed`, `tables`, `pdf` | feeds and sitemaps, CSV and JSON, PDF |
//! | `cut`, `sources` | the part that is shown, and what it can be cited as |
//! | `search` | one call of `web_search`: choice, cleaning, duplicates |
//! | `providers`, `providers/` | the index, and one search provider a file |
//! | `address` | secrets in addresses |
//! | `fault` | what can go wrong, in the words of the tools |

mod address;
mod cache;
mod charset;
mod cut;
pub mod extract;
mod fault;
mod feed;
mod fetch;
pub mod html;
mod kind;
mod pdf;
pub mod providers;
pub mod search;
mod sources;
mod tables;

pub use address::secret_free;
pub use fault::WebError;
pub use sources::Sources;
