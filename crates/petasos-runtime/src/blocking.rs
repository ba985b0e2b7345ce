//! The door for callers that cannot await.
//!
//! A plain thread waits on a runtime that lives as long as this door, so that pooled clients stay
//! usable from call to call. A thread that is itself inside a runtime must not block on that one:
//! its call runs on ours and is bounded to 300 seconds.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use petasos_contract::CallContext;
use petasos_contract::call::{Refusal, RefusalKind, ToolCall, ToolResult};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::dispatch::Dispatcher;

/// How long a call from inside another runtime may take.
pub const BRIDGED_LIMIT: Duration = Duration::from_mins(5);

/// How long an overdue call may take to wind up before it is given up.
const GRACE: Duration = Duration::from_secs(1);

/// A dispatcher for synchronous callers.
#[derive(Debug)]
pub struct BlockingDoor {
    dispatcher: Arc<Dispatcher>,
    /// Given up in the background on drop: dropping a runtime inside another one would panic.
    runtime: Option<Runtime>,
    bridged_limit: Duration,
}

impl BlockingDoor {
    /// Starts the runtime that all calls share.
    pub fn new(dispatcher: Arc<Dispatcher>) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("petasos-door")
            .enable_all()
            .build()?;
        Ok(Self { dispatcher, runtime: Some(runtime), bridged_limit: BRIDGED_LIMIT })
    }

    /// Gives calls from inside another runtime so long.
    #[must_use]
    pub fn with_bridged_limit(mut self, limit: Duration) -> Self {
        self.bridged_limit = limit;
        self
    }

    /// Runs a call to its result, from any thread.
    pub fn dispatch(&self, call: ToolCall, cx: &CallContext) -> ToolResult {
        let Some(runtime) = &self.runtime else { return closed(&call) };
        if Handle::try_current().is_err() {
            return runtime.block_on(self.dispatcher.dispatch(call, cx));
        }
        self.bridge(runtime, call, cx)
    }

    /// From inside a runtime: the call runs on ours while this thread waits for a message. It has
    /// a thread of its own there, because this one may be a worker of that very runtime, and a
    /// worker that waits never comes to what was queued behind it.
    fn bridge(&self, runtime: &Runtime, call: ToolCall, cx: &CallContext) -> ToolResult {
        let (tx, rx) = std::sync::mpsc::sync_channel(1);
        let dispatcher = Arc::clone(&self.dispatcher);
        let mut cx = cx.for_call(call.id.clone());
        // The dispatcher keeps the limit itself, so that an overdue call still tells its hooks.
        cx.deadline = cx.deadline.min(Instant::now() + self.bridged_limit);
        let (cancel, kept) = (cx.cancel.clone(), call.clone());
        let handle = runtime.handle().clone();
        runtime.spawn_blocking(move || {
            let result = handle.block_on(dispatcher.dispatch(call, &cx));
            // The receiver is gone only after the limit, when nobody wants the result any more.
            tx.send(result).unwrap_or_default();
        });
        match rx.recv_timeout(self.bridged_limit + GRACE) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => {
                cancel.cancel();
                let seconds = self.bridged_limit.as_secs_f32();
                let why = format!("it did not finish within {seconds} s");
                gone(&kept, RefusalKind::Timeout, &why)
            }
            Err(RecvTimeoutError::Disconnected) => {
                gone(&kept, RefusalKind::Broken, "its task ended without a result")
            }
        }
    }
}

impl Drop for BlockingDoor {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn closed(call: &ToolCall) -> ToolResult {
    gone(call, RefusalKind::Broken, "the door is closed")
}

fn gone(call: &ToolCall, kind: RefusalKind, why: &str) -> ToolResult {
    let refusal = Refusal::new(kind, format!("Error executing {}: {why}", call.name));
    ToolResult::refused(call, &refusal, kind.disposition())
}
