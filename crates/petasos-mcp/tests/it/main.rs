//! MCP through its public doors: servers that misbehave, and our own server.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "what a test cannot set up fails it, and services tell their addresses by variables"
)]
#![expect(
    clippy::needless_pass_by_value,
    clippy::similar_names,
    clippy::items_after_statements,
    reason = "tests read in the order of what happens"
)]

mod certificates;
mod hostile_http;
mod hostile_stdio;
mod kit;
mod many;
mod official;
mod serving;
mod signing_in;
mod web;
