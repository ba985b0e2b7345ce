//! Calls of a reply that is still on its way: shown as soon as their names are known.

use agent_client_protocol_schema::v1::{
    SessionUpdate, ToolCall, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use serde_json::Map;

use super::Renderer;
use crate::shown;
use crate::texts::plain;

/// A call whose name is known, and whose arguments are still being written.
pub(super) struct BegunCall {
    /// Request and attempt.
    of: (u32, u32),
    pub(super) wire: ToolCallId,
}

impl Renderer {
    /// A call is shown as soon as its name is known. One without an id waits until it is whole.
    pub(super) fn begins(&mut self, of: (u32, u32), tool: &str, id: &str) -> Option<SessionUpdate> {
        let known = self.begun.contains_key(id) || self.calls.contains_key(id);
        if known || tool.trim().is_empty() || id.trim().is_empty() {
            return None;
        }
        self.saying = None;
        let wire = self.named(id);
        self.begun.insert(id.to_owned(), BegunCall { of, wire: wire.clone() });
        let nothing = Map::new();
        let call = ToolCall::new(wire, shown::title(tool, &nothing, &self.cwd));
        let call = call.name(tool.to_owned()).kind(shown::kind(tool, &nothing));
        Some(SessionUpdate::ToolCall(call.status(ToolCallStatus::Pending)))
    }

    /// Calls of a reply that was given up: the model was asked again.
    pub(super) fn replaced(&mut self, now: (u32, u32)) -> Vec<SessionUpdate> {
        let gone = self.begun.extract_if(|_, begun| begun.of != now);
        let why = "The model was asked again before this call was whole.";
        let update = |(_, begun): (String, BegunCall)| failed(begun.wire, why);
        gone.map(update).collect()
    }
}

fn failed(wire: ToolCallId, why: &str) -> SessionUpdate {
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(wire, fields.content(vec![plain(why)])))
}
