//! What tests of several crates share.
//!
//! Its law: only tests depend on it. `home` makes throw-away homes, `program` runs a program in
//! one of them with an environment of its own, `addresses` must not be reached, `names` answers for
//! names as it is told, `canary` is the secret that they must keep, `pace` is a fair time limit,
//! `skip` says why a test did not run, `call` runs a tool without a door, `suites` is what every
//! implementation of a trait must do.

pub mod addresses;
mod call;
pub mod canary;
mod home;
pub mod names;
pub mod pace;
mod program;
mod skip;
pub mod suites;

pub use call::call;
pub use home::Home;
pub use program::{Finished, Program};
pub use skip::skip;
