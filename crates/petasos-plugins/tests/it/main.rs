//! Shell hooks and plugins as real processes, through the one door.
#![expect(
    clippy::panic,
    clippy::needless_pass_by_value,
    clippy::similar_names,
    reason = "what a test cannot set up fails it, and tests read in the order of what happens"
)]
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod examples;
mod hooks;
mod misbehaviour;
mod plugins;
mod stage;
