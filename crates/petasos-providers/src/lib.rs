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
//! | `resolve`, `runtime` | the one resolver and its answer |
//! | `credential`, `local` | secrets at rest, and servers on this machine |
//! | `transport`, `transports` | dialects: prompts into requests, bytes into replies |
//! | `lower`, `limits`, `markers` | tool schemas, output limits and cache markers per dialect |
//! | `failure`, `retry`, `recover` | why a request failed, and what to do about it |
//! | `client`, `route`, `timeouts` | the model behind every surface |
//! | `fallback`, `roles`, `sight`, `guard` | who else can answer, who serves which role, who looks at pictures, who rests |
//! | `catalog`, `ledger` | what is known of models, and what was used |

pub mod catalog;
pub mod client;
pub mod credential;
pub mod failure;
pub mod fallback;
pub mod guard;
pub mod ledger;
pub mod limits;
pub mod local;
pub mod lower;
pub mod markers;
pub mod mode;
pub mod recover;
pub mod resolve;
pub mod retry;
pub mod roles;
pub mod route;
pub mod row;
pub mod rows;
pub mod runtime;
mod sight;
pub mod table;
pub mod timeouts;
pub mod transport;
pub mod transports;

pub use credential::{Vault, VaultView};
pub use mode::{ApiMode, Wire};
pub use resolve::{Request, ResolveError, Resolved, resolve};
pub use runtime::ProviderRuntime;
