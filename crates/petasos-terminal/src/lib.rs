//! Where commands run: environments, process trees, jobs, pseudo-terminals and the sandbox.
//!
//! Its law: nothing else starts a process, and only `childenv` builds a child's environment.
//! It never decides whether a command may run; that has happened before it is asked.
//!
//! | file | what it holds |
//! |---|---|
//! | `engine`, `places` | the ports, and what they share; the places that are open |
//! | `run`, `shell`, `sudo`, `prompt` | commands of a session |
//! | `jobs` | background jobs |
//! | `backend`, `backends` | what a backend declares, and one a file |
//! | `sync` | files that follow a session to a target |
//! | `remote` | what places behind a carrier share |
//! | `keeper`, `tree`, `supervised` | owning whole process trees, and being in one |
//! | `processes`, `search` | helper programs of ours, and where programs are found |
//! | `front` | the person's editor and clipboard |
//! | `exports` | what a shell left at its end |
//! | `sandbox`, `childenv` | what a command may touch and see |
//! | `output` | what the model sees of it |
//! | `settings` | the section `terminal` |
//! | `ready`, `ids` | descriptors on the reactor, random names |

pub mod backend;
pub mod backends;
pub mod childenv;
mod engine;
mod exports;
mod front;
pub mod ids;
mod jobs;
mod keeper;
mod output;
mod places;
mod processes;
mod prompt;
mod ready;
pub mod remote;
mod run;
mod sandbox;
mod search;
pub mod settings;
mod shell;
mod sudo;
mod supervised;
pub mod sync;
pub mod tree;

pub use childenv::search_path;
pub use engine::{Engine, Own};
pub use front::{clipboard_picture, edit};
pub use jobs::JobTable;
pub use output::cleaned;
pub use processes::Helpers;
pub use settings::TerminalSettings;
pub use supervised::{is_supervised, make_private};
