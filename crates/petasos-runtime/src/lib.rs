//! The runtime: which tools there are, which of them a model is told of, and the one door through
//! which every call walks.
//!
//! Its law: it knows the waist and nobody else. Engines (approval, terminal, providers) reach it
//! as the traits of `petasos-contract`.
//!
//! | file | what it holds |
//! |---|---|
//! | `registry` | tools by name, trust, snapshots |
//! | `toolsets` | bundles, and what a choice of them comes down to |
//! | `availability` | asking checks and remembering answers |
//! | `definitions` | the list of schemas a model is given, and why |
//! | `search` | the long tail behind three bridge tools |
//! | `dispatch` | the one door |
//! | `hooks`, `middleware` | other people's code on the way |
//! | `budget`, `untrusted` | what a result may weigh, and whose words it carries |
//! | `plan`, `round` | batches: what may run together, and running it |
//! | `blocking` | the door for callers that cannot await |

pub mod availability;
pub mod blocking;
pub mod budget;
pub mod definitions;
pub mod dispatch;
pub mod hooks;
pub mod middleware;
pub mod plan;
pub mod registry;
pub mod round;
pub mod search;
pub mod toolsets;
mod untrusted;

#[cfg(test)]
mod probe;
#[cfg(test)]
mod storm;

pub use dispatch::Dispatcher;
pub use registry::{Registry, discover_builtin_tools};
