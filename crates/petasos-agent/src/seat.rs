//! The loop's own state, as its tools see it. Only a turn puts it into a context.

use std::any::Any;
use std::sync::Arc;

use parking_lot::Mutex;
use petasos_contract::reply::Usage;
use petasos_contract::seat::Seat;
use petasos_contract::{BoxFuture, CallContext, CallId, SessionId, ToolError, TurnId};

use crate::delegate::Delegation;
use crate::engine::Engine;
use crate::journal::Journal;
use crate::memory::Memory;
use crate::steer::Inbox;
use crate::todo::TodoList;

/// What `todo`, `memory`, `session_search`, `delegate_task` and `clarify` work on.
#[derive(Debug)]
pub struct LoopSeat {
    /// The shared parts.
    pub engine: Arc<Engine>,
    /// The conversation.
    pub session: SessionId,
    /// Where calls are noted that begin.
    pub(crate) journal: Arc<Journal>,
    /// The list of tasks.
    pub todo: Mutex<TodoList>,
    /// How many notes were refused in the newest turn that asked for some.
    pub(crate) refused_notes: Mutex<Option<(TurnId, u32)>>,
    /// The notes.
    pub memory: Memory,
    /// Those who work for this agent.
    pub delegation: Delegation,
    /// Where news wait.
    pub inbox: Inbox,
    /// What subagents used so far.
    pub delegated: Arc<Mutex<Usage>>,
}

impl LoopSeat {
    /// A note was refused: how often that has happened in this turn.
    pub(crate) fn refuse_note(&self, turn: &TurnId) -> u32 {
        let mut refused = self.refused_notes.lock();
        let before = refused.take().filter(|(of, _)| of == turn).map_or(0, |(_, count)| count);
        *refused = Some((turn.clone(), before + 1));
        before + 1
    }
}

impl Seat for LoopSeat {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn begins<'a>(&'a self, call: &'a CallId) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move { self.journal.begins(call).await.map_err(|error| error.to_string()) })
    }
}

/// The seat in a context; the door lets nobody through without one.
pub(crate) fn of(cx: &CallContext) -> Result<&LoopSeat, ToolError> {
    cx.seat.as_ref().and_then(|seat| seat.as_any().downcast_ref::<LoopSeat>()).ok_or_else(|| {
        ToolError::new("NoSeat", "this tool works inside the agent loop only: call it from there")
    })
}
