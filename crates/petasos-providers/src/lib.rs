//! From "what the user chose" to "where to send it, in which dialect, with which secret", and the
//! conversation with that place.
//!
//! Its law: one resolver, one pure function of a request and snapshots, used by every surface;
//! nobody else builds a client.
//!
//! | file | what it holds |
//! |---|---|
//! | `rows` | the providers, as data |
//! | `mode` | which dialect an endpoint speaks |
//! | `runtime` | the resolver's answer |

pub mod mode;
pub mod runtime;

pub use mode::{ApiMode, Wire};
pub use runtime::ProviderRuntime;
