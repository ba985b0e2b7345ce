//! Hearing that something was written, by whichever process.

use std::time::Duration;

use tokio::sync::watch;

/// A change of another process is heard of so late at most.
pub const CHANGE_LATE_MAX: Duration = Duration::from_secs(1);

/// Tells that something may have changed. It is a hint to look, never the truth.
pub trait ChangeFeed: Send + Sync {
    /// A number that is another one after every change.
    fn changes(&self) -> watch::Receiver<u64>;
}
