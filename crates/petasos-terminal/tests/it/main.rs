//! Commands, trees, jobs and the sandbox, against real processes.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod death;
mod jobs;
mod processes;
mod pty;
mod sandbox;
mod shell;
mod stage;
mod trees;
