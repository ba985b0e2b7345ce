//! What tests of several crates share.
//!
//! Its law: only tests depend on it. `home` makes throw-away homes, `program` runs a program in
//! one of them with an environment of its own, `skip` says why a test did not run.

mod home;
mod program;
mod skip;

pub use home::Home;
pub use program::{Finished, Program};
pub use skip::skip;
