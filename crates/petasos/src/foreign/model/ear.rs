//! Hears the agent that answers a conversation, turn by turn.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use petasos_acp::{AgentCall, AgentCallState, AgentWatcher, WantedAction};
use petasos_contract::call::Status;
use petasos_contract::event::{Event, ResultView};
use petasos_contract::model::{Delta, DeltaSink};
use petasos_contract::{BoxFuture, CallContext, CallId, ToolName};
use serde_json::json;

use crate::foreign::judge::Judge;

/// More of what a call says is not shown.
const PREVIEW_CHARS: usize = 16_000;

/// What came of a turn.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) text: String,
    pub(super) thought: String,
    /// How much the agent has in mind, in tokens.
    pub(super) used: u64,
}

struct Turn {
    deltas: DeltaSink,
    cx: CallContext,
    heard: Heard,
    /// Calls that have ended.
    ended: HashSet<String>,
}

/// Listens while a turn runs; what comes between turns is nobody's.
pub(super) struct Ear {
    judge: Judge,
    turn: Mutex<Option<Turn>>,
    used: AtomicU64,
    window: AtomicU64,
}

/// Ends the turn that is listened to.
pub(super) struct Listening {
    ear: Arc<Ear>,
}

impl Listening {
    pub(super) fn end(self) -> Heard {
        let turn = self.ear.turn.lock().take();
        let heard = turn.map(|turn| turn.heard).unwrap_or_default();
        Heard { used: self.ear.used.load(Ordering::Relaxed), ..heard }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.ear.turn.lock().take();
    }
}

impl Ear {
    pub(super) fn new(judge: Judge) -> Self {
        let (used, window) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { judge, turn: Mutex::new(None), used, window }
    }

    /// How much the agent can have in mind, where it has said so.
    pub(super) fn window(&self) -> Option<u64> {
        Some(self.window.load(Ordering::Relaxed)).filter(|window| *window > 0)
    }

    pub(super) fn listen(self: &Arc<Self>, deltas: &DeltaSink, cx: &CallContext) -> Listening {
        let (deltas, heard, ended) = (deltas.clone(), Heard::default(), HashSet::new());
        *self.turn.lock() = Some(Turn { deltas, cx: cx.clone(), heard, ended });
        Listening { ear: Arc::clone(self) }
    }
}

fn name(call: &str) -> CallId {
    CallId::new(format!("agent-{call}"))
}

impl AgentWatcher for Ear {
    fn said(&self, text: &str) {
        if let Some(turn) = &mut *self.turn.lock() {
            turn.heard.text.push_str(text);
            turn.deltas.tell(1, &Delta::Text { text: text.to_owned() });
        }
    }

    fn thought(&self, text: &str) {
        if let Some(turn) = &mut *self.turn.lock() {
            turn.heard.thought.push_str(text);
            turn.deltas.tell(1, &Delta::Reasoning { text: text.to_owned() });
        }
    }

    fn called(&self, call: &AgentCall, is_new: bool) {
        let mut turn = self.turn.lock();
        let Some(turn) = &mut *turn else { return };
        let tool = ToolName::new(self.judge.agent.clone());
        let (session, id) = (turn.cx.session.clone(), name(&call.id));
        if is_new {
            let arguments = json!({ "action": call.title, "input": call.input }).to_string();
            let (session, call, tool) = (session.clone(), id.clone(), tool.clone());
            turn.cx.events.emit(|| Event::ToolRequested { session, call, tool, arguments });
        }
        let status = match call.state {
            AgentCallState::Open => {
                if is_new {
                    turn.cx.events.emit(|| Event::ToolStarted { session, call: id, tool });
                }
                return;
            }
            AgentCallState::Done => Status::Ok,
            AgentCallState::Failed => Status::Error,
        };
        if turn.ended.insert(call.id.clone()) {
            let preview: String = call.text.chars().take(PREVIEW_CHARS).collect();
            let view = ResultView { lines: preview.lines().count(), ..ResultView::default() };
            let call = id;
            turn.cx.events.emit(|| Event::ToolAnswered {
                session,
                call,
                tool,
                status,
                preview,
                view,
            });
        }
    }

    fn measured(&self, used: u64, window: u64) {
        self.used.store(used, Ordering::Relaxed);
        self.window.store(window, Ordering::Relaxed);
    }

    fn permit<'a>(&'a self, action: &'a WantedAction) -> BoxFuture<'a, bool> {
        let cx = self.turn.lock().as_ref().map(|turn| turn.cx.clone());
        Box::pin(async move {
            // Nobody asked it for anything, so nobody lets it.
            let Some(cx) = cx else { return false };
            let cx = cx.for_call(name(&action.call));
            tokio::select! {
                permitted = self.judge.permits(action, &cx) => permitted,
                () = cx.cancel.cancelled() => false,
            }
        })
    }
}
