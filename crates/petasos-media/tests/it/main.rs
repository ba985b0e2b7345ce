//! Media through the crate's public doors.

#![expect(clippy::unwrap_used, reason = "what a test cannot set up fails it")]

mod cancels;
mod desk;
mod filmers;
mod films;
mod hearings;
mod hostile;
mod painters;
mod pictures;
mod real;
mod schemas;
mod voices;

/// Writes a file of a test.
fn put(path: impl AsRef<std::path::Path>, bytes: impl AsRef<[u8]>) {
    use std::io::Write as _;
    std::fs::File::create(path).unwrap().write_all(bytes.as_ref()).unwrap();
}
