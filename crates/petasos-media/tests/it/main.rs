//! Media through the crate's public doors.

mod hostile;
mod pictures;
