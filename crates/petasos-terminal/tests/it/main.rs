//! Commands, trees, jobs and the sandbox, against real processes.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]
#![expect(clippy::expect_used, reason = "what a test needs is named")]

mod conformance;
mod death;
mod docker;
mod hosted;
mod jobs;
mod lent;
mod places;
mod processes;
mod pty;
mod sandbox;
mod shell;
mod singularity;
mod ssh;
mod stage;
mod sudo;
mod trees;
mod unavailable;
