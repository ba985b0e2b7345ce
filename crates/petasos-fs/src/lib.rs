//! Files of our own: replaced whole, locked with a deadline, private to their owner.
//!
//! Its law: it knows bytes and paths, never what is in a file. A reader, or a kill at any moment,
//! sees the old content or the new one; no lock is waited for without an end.
//!
//! | file | what it holds |
//! |---|---|
//! | `replace` | putting a file in place in one step, and what killed writers left |
//! | `lock` | locks that hold across processes |
//! | `record` | a JSON value in a file, changed under its lock |
//! | `real` | where a path leads once its links are followed |
//! | `protected` | names of files that nobody changes without a question |
//! | `error` | what can go wrong, with the path and what to do |

mod error;
mod lock;
mod protected;
mod real;
mod record;
mod replace;

pub use error::FsError;
pub use lock::{LOCK_WAIT_MAX, Lock, lock, lock_within};
pub use protected::is_protected;
pub use real::{real, real_parent};
pub use record::Record;
pub use replace::{Mode, target_of, write, write_locked};
