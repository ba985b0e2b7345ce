//! The door for tools that call tools. Tools are made before the door exists, so they are given
//! this instead, which leads to whichever door the host opened last.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use petasos_contract::call::{Disposition, Refusal, RefusalKind, ToolCall, ToolResult};
use petasos_contract::ports::Door;
use petasos_contract::{BoxFuture, CallContext};
use petasos_runtime::Dispatcher;

/// Leads to the door, once there is one.
#[derive(Debug, Default)]
pub(crate) struct Doorway {
    door: Mutex<Weak<Dispatcher>>,
}

impl Doorway {
    /// From now on it leads there, for as long as that door is open.
    pub(crate) fn leads_to(&self, door: &Arc<Dispatcher>) {
        *self.door.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(door);
    }

    fn door(&self) -> Option<Arc<Dispatcher>> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }
}

impl Door for Doorway {
    fn dispatch<'a>(&'a self, call: ToolCall, cx: &'a CallContext) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            match self.door() {
                Some(door) => door.dispatch(call, cx).await,
                None => closed(&call),
            }
        })
    }
}

fn closed(call: &ToolCall) -> ToolResult {
    let message = format!("Error executing {}: no door is open", call.name);
    ToolResult::refused(call, &Refusal::new(RefusalKind::Broken, message), Disposition::None)
}
