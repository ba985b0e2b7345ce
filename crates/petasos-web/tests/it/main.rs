//! Pages, providers and what becomes of them, through the doors of the crate.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "a test lays out files as others leave them")]

mod documents;
mod kit;
mod pages;
mod pdf;
mod reading;
mod searching;
mod services;
