//! Media through the crate's public doors.

#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod desk;
mod hearings;
mod hostile;
mod pictures;
mod voices;
