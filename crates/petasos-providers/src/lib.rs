//! From "what the user chose" to "where to send it, in which dialect, with which secret", and the
//! conversation with that place.
//!
//! Its law: one resolver, one pure function of a request and snapshots, used by every surface;
//! nobody else builds a client.
//!
//! | file | what it holds |
//! |---|---|
//! | `row`, `rows`, `table` | the providers, as data, and their names |
//! | `mode` | which dialect an endpoint speaks |
//! | `runtime` | the resolver's answer |

pub mod mode;
pub mod row;
pub mod rows;
pub mod runtime;
pub mod table;

pub use mode::{ApiMode, Wire};
pub use runtime::ProviderRuntime;
