//! Conformance suites: what every implementation of a trait must do, whatever is behind it.

pub mod decisions;
pub mod grants;
pub mod mailbox;
pub mod store;
