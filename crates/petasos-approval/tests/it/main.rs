//! Behaviour of the judge through its public doors.

mod corpus;
mod differential;
mod doors;
mod examples;
mod policy;
mod spans;
mod speed;
mod vectors;
