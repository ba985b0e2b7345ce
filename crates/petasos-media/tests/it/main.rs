//! Media through the crate's public doors.

#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod desk;
mod filmers;
mod hearings;
mod hostile;
mod painters;
mod pictures;
mod real;
mod schemas;
mod voices;
