//! The agent loop's own state, lent to the few tools that belong to it.
//!
//! `todo`, `memory`, `session_search` and `delegate_task` need state that only the loop has. The
//! loop puts a [`Seat`] into the context; a call without one is refused at the door.

use std::any::Any;
use std::fmt::Debug;

use crate::BoxFuture;
use crate::id::CallId;

/// What an agent-loop tool can reach. The loop implements it and downcasts its own type back.
pub trait Seat: Debug + Send + Sync {
    /// The loop's own type.
    fn as_any(&self) -> &dyn Any;

    /// A call begins now: whatever happens, it may have taken effect. It does not begin when this
    /// fails. One that waits for approval has not begun.
    fn begins<'a>(&'a self, _: &'a CallId) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
