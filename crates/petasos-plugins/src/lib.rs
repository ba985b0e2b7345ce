//! Code of others: plugins over a pipe and hooks that are programs.
//!
//! Its law: nothing of a plugin or a hook runs inside this program, and each of them fails alone.
//! What they may do is decided elsewhere: a tool of a plugin goes through the one door, arguments
//! that a hook rewrote are judged again, and a name is taken only where trust allows it.
//!
//! | file | what it holds |
//! |---|---|
//! | `payload`, `answer` | a moment as JSON, and JSON as what a hook wants |
//! | `spill` | context that is too long |
//! | `shell` | hooks from the configuration |
//! | `manifest`, `discover` | which plugins there are and which of them run |
//! | `rpc` | the pipe to one plugin |
//! | `plugin` | one plugin: its process, its tools, hooks, middleware and verbs |
//! | `plugins` | all of them |
//! | `python` | the host for plugins that are Python packages |

pub mod answer;
pub mod discover;
pub mod manifest;
pub mod payload;
pub mod plugin;
pub mod plugins;
mod python;
mod rpc;
pub mod shell;
mod spill;

pub use plugins::{Plugins, Surroundings};
pub use shell::ShellHooks;
