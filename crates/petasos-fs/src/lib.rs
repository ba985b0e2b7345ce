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
//! | `error` | what can go wrong, with the path and what to do |

mod error;
mod lock;
mod record;
mod replace;

pub use error::FsError;
pub use lock::{LOCK_WAIT_MAX, Lock, lock, lock_within};
pub use record::Record;
pub use replace::{Mode, target_of, write, write_locked};
