//! Behaviour of the analysis through its public doors.
#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]
#![expect(clippy::print_stdout, reason = "a failing score lists what was judged otherwise")]

mod corpus;
mod differential;
mod doors;
mod examples;
mod families;
mod fuzzed;
mod padding;
mod shapes;
mod spans;
mod speed;
mod vectors;
