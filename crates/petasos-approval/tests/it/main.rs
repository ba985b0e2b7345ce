//! Behaviour of the policy through its public doors.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod conformance;
mod policy;
