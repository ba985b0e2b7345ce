//! Sessions with the real loop, the real door and the real store, and a scripted model.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what a test cannot set up fails it")]

mod cold;
mod commands;
mod processes;
mod questions;
mod restart;
mod surfaces;
mod waiting;
mod world;
