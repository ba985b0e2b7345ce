//! The client: servers of others, kept alive, with their tools in our registry.
//!
//! | file | what it holds |
//! |---|---|
//! | `spec`, `vet`, `osv` | entries of the configuration, and which are refused |
//! | `servers`, `keeper`, `state` | all servers, the life of one, how it is doing |
//! | `link`, `stdio`, `http`, `sse` | one connection, and what carries it |
//! | `oauth` | signing in |
//! | `register`, `schema`, `list` | their tools as ours |
//! | `call`, `breaker`, `faults`, `results` | calling one, and what comes back |
//! | `answers`, `sampling` | what a server may ask us |

mod answers;
mod breaker;
mod call;
mod faults;
mod http;
mod keeper;
mod link;
mod list;
pub mod oauth;
mod osv;
mod pace;
mod register;
mod results;
mod sampling;
mod schema;
mod servers;
mod shared;
mod shown;
mod spec;
mod sse;
mod state;
mod stdio;
mod vet;

pub use register::full_name;
pub use servers::{Missing, Reloaded, START_BUDGET, ServerView, Servers};
pub use shared::Around;
pub use spec::{Launch, OauthSpec, Sampling, ServerSpec, SpecError, ToolFilter};
pub use state::State;
pub use stdio::{STDERR_LOG, prefix as log_prefix, started as log_start};
pub use vet::vet;
