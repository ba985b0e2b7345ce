//! Shell hooks and plugins as real processes, through the one door.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod examples;
mod hooks;
mod misbehaviour;
mod plugins;
mod stage;
