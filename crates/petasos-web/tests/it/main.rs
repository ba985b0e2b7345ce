//! Pages, providers and what becomes of them, through the doors of the crate.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::panic, reason = "a test says what it saw")]

mod kit;
mod pages;
mod reading;
mod searching;
mod services;
