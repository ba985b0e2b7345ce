//! The web for a model: pages as Markdown, and search over providers.
//!
//! Its law: what a page says becomes text here and is obeyed nowhere; every request goes through
//! the one way out under its public-only rule; a provider is asked only when it was chosen or its
//! key was given.
//!
//! | file | what it holds |
//! |---|---|
//! | `extract`, `shown` | one call of `web_extract`: pages beside each other, in order, and as they are told |
//! | `fetch`, `cache` | getting a page, and keeping it with its validators |
//! | `hosts`, `robots` | manners: few requests at once, and what a site asks of programs |
//! | `render` | what a page needs that is empty without its scripts |
//! | `reader`, `readers/` | reading through somebody else, one service a file |
//! | `kind`, `charset` | what came, and in which letters |
//! | `html/` | documents: the tree, its main content, Markdown |
//! | `feed`, `tables` | feeds and sitemaps, CSV and JSON |
//! | `pdf`, `apart` | PDF, and the process of its own that reads it |
//! | `cut`, `sources` | the part that is shown, and what it can be cited as |
//! | `search`, `rows` | one call of `web_search`: choice, pages, cleaning, duplicates |
//! | `providers/` | one search provider a file |
//! | `service` | one request to a service of somebody else, with its key |
//! | `address` | secrets in addresses |
//! | `fault` | what can go wrong, in the words of the tools |

mod address;
mod apart;
mod cache;
mod charset;
mod cut;
pub mod extract;
mod fault;
mod feed;
mod fetch;
mod hosts;
pub mod html;
mod kind;
mod pdf;
pub mod providers;
pub mod reader;
pub mod readers;
mod render;
mod robots;
mod rows;
pub mod search;
mod service;
mod shown;
mod sources;
mod tables;

pub use address::secret_free;
pub use apart::Apart;
pub use extract::is_challenge;
pub use fault::WebError;
pub use pdf::serve as serve_pdf;
pub use render::{Rendered, Renderer};
pub use rows::Row;
pub use service::{KeyHeader, Outgoing, Service};
pub use sources::{Cited, Sources};
