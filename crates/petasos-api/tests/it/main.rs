//! The server over real sockets. Numbers are the acceptance lines of the surfaces contract.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chat;
mod letting_in;
mod outgoing;
mod responses;
mod runs;
mod sdk;
mod sessions;
mod webhooks;
mod wire;
mod wishes;
mod world;
