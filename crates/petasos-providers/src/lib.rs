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
//! | `transport`, `transports` | dialects: prompts into requests, bytes into replies |
//! | `lower`, `limits`, `markers` | tool schemas, output limits and cache markers per dialect |
//! | `failure`, `retry`, `recover` | why a request failed, and what to do about it |

pub mod credential;
pub mod failure;
pub mod limits;
pub mod local;
pub mod lower;
pub mod markers;
pub mod mode;
pub mod recover;
pub mod retry;
pub mod row;
pub mod rows;
pub mod runtime;
pub mod table;
pub mod transport;
pub mod transports;

pub use mode::{ApiMode, Wire};
pub use runtime::ProviderRuntime;
