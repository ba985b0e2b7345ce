//! Whole conversations: the real loop, the real door and the real store, with a scripted model.
#![expect(clippy::unwrap_used, clippy::panic, reason = "what a test cannot set up fails it")]

mod compress;
mod conversations;
mod delegation;
mod interrupt;
mod kill;
mod leases;
mod loop_tools;
mod notes;
mod owners;
mod prompt;
mod tapped;
mod world;
