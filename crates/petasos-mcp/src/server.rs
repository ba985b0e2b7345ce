//! The server: our tools for any MCP host, through the one door.
//!
//! `toolbox` is what we offer, `approve` asks the host's user, `handler` speaks the protocol for
//! any [`Offer`](crate::offer::Offer), `caller` is whoever is connected, `stdio` and `http` carry
//! it.

mod approve;
mod caller;
mod handler;
mod http;
mod stdio;
mod toolbox;

pub use approve::ByElicitation;
pub use caller::{AskError, Asked, Caller};
pub use http::{HttpOptions, Listening, ServeError, bind};
pub use stdio::serve_stdio;
pub use toolbox::{LogHead, Logs, Toolbox};
