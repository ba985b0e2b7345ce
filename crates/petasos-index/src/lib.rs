//! Keeps family indexes in step with their folders.
//!
//! Law: an index is derived from its folder and never edited. A crate's build script names its
//! family and calls [`Family::sync`]; `cargo xtask tidy` asks [`Family::is_fresh`] of the same
//! value (`family`). It is a build-dependency only and has no dependencies of its own.

mod family;

pub use family::{Error, Family};
