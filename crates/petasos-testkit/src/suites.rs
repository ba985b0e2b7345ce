//! Conformance suites: what every implementation of a trait must do, whatever is behind it.

pub mod store;
