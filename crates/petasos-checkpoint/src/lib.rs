//! Copies of the workspace before an agent changes it, and the way back.
//!
//! Its law: the user's repository is never touched. Copies are made with git's plumbing in a
//! repository and an index of our own, below the agent's home; ignored files, secrets and huge
//! files are not copied. It starts processes only through the environment it is given.
//!
//! | file | what it holds |
//! |---|---|
//! | `checkpoints` | what everything starts from |
//! | `before` | takes a copy before the first change of a turn; what is no change |
//! | `look`, `seen` | what differs from the last copy; how a small workspace looked then |
//! | `take`, `name`, `prune` | making a copy: its bytes, its name, and room for it |
//! | `list`, `restore` | showing and undoing copies |
//! | `orphans` | checkpoints of folders that are gone |
//! | `line` | who waits for whom |
//! | `store`, `draft`, `git` | where copies are, and the program that makes them |
//! | `settings`, `error` | how many, and how large; why a copy was not made |

mod before;
mod checkpoints;
mod draft;
mod error;
mod git;
mod line;
mod list;
mod look;
mod name;
mod orphans;
mod prune;
mod restore;
mod seen;
mod settings;
mod store;
mod take;

pub use before::Before;
pub use checkpoints::Checkpoints;
pub use error::CheckpointError;
pub use list::Checkpoint;
pub use orphans::{Orphan, orphans};
pub use restore::{Changes, Restored};
pub use settings::CheckpointSettings;
pub use take::Taken;
