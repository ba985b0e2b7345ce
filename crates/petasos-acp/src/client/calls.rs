//! The calls of another agent: what it said of each so far, and what it wants to do.

use std::collections::HashMap;
use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    ContentBlock, ToolCall, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind,
};
use parking_lot::Mutex;
use petasos_contract::plan::FileEdit;
use petasos_shell::reading;
use serde_json::Value;

/// More calls than an agent has open at once; then the older ones are forgotten.
const KNOWN_MAX: usize = 1024;
const UNNAMED: &str = "something that it does not name";

/// Where a call stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AgentCallState {
    /// It has not ended.
    #[default]
    Open,
    /// It went well.
    Done,
    /// It did not.
    Failed,
}

/// A call of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentCall {
    /// The agent's name for it.
    pub id: String,
    /// What it is about, in the agent's words.
    pub title: String,
    /// What the tool was given.
    pub input: Option<Value>,
    /// Where it stands.
    pub state: AgentCallState,
    /// What it printed or says.
    pub text: String,
    /// What it changes.
    pub edits: Vec<FileEdit>,
}

/// What an agent wants to do, for whoever must agree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedAction {
    /// The agent's name for the call.
    pub call: String,
    /// What it is about, in the agent's words.
    pub title: String,
    /// The command that it would run.
    pub command: Option<String>,
    /// The files that it would write.
    pub writes: Vec<PathBuf>,
    /// What it would change in them, as far as it shows that.
    pub edits: Vec<FileEdit>,
    /// Whether it says that it only reads.
    pub reads_only: bool,
}

impl WantedAction {
    /// Whether it changes nothing, by its own word or as its command plainly says.
    pub fn only_looks(&self) -> bool {
        self.reads_only || self.command.as_deref().is_some_and(reading::only_reads)
    }
}

/// The calls of one connection: an agent may ask for permission by the name alone.
#[derive(Debug, Default)]
pub(super) struct Calls(Mutex<HashMap<String, ToolCall>>);

impl Calls {
    /// A call as it is announced, and whether nothing was known of it.
    pub(super) fn announced(&self, call: ToolCall) -> (AgentCall, bool) {
        let mut known = self.0.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        let shown = view(&call);
        let before = known.insert(shown.id.clone(), call);
        (shown, before.is_none())
    }

    /// A call with what is new about it; some agents announce one by its first change.
    pub(super) fn updated(&self, update: ToolCallUpdate) -> (AgentCall, bool) {
        let id = update.tool_call_id.0.to_string();
        let found = self.0.lock().get(&id).cloned();
        let is_new = found.is_none();
        let mut call = found.unwrap_or_else(|| ToolCall::new(update.tool_call_id.clone(), ""));
        call.update(update.fields);
        let (shown, _) = self.announced(call);
        (shown, is_new)
    }

    /// What a call would do, as far as the agent says.
    pub(super) fn wanted(&self, call: &AgentCall) -> WantedAction {
        let known = self.0.lock();
        let known = known.get(&call.id);
        let kind = known.map(|call| call.kind).unwrap_or_default();
        let input = call.input.as_ref();
        let command = input.and_then(|input| input.get("command")).and_then(words);
        let mut writes: Vec<PathBuf> = call.edits.iter().map(|edit| edit.path.clone()).collect();
        let changes = matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move);
        if changes && writes.is_empty() {
            let places = known.map(|call| call.locations.as_slice()).unwrap_or_default();
            writes = places.iter().map(|place| place.path.clone()).collect();
        }
        let harmless = matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Think);
        WantedAction {
            call: call.id.clone(),
            title: call.title.clone(),
            reads_only: harmless && writes.is_empty() && command.is_none(),
            edits: call.edits.clone(),
            command,
            writes,
        }
    }
}

fn view(call: &ToolCall) -> AgentCall {
    let texts = call.content.iter().filter_map(|content| match content {
        ToolCallContent::Content(content) => match &content.content {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        },
        _ => None,
    });
    let edits = call.content.iter().filter_map(|content| match content {
        ToolCallContent::Diff(diff) => Some(FileEdit {
            path: diff.path.clone(),
            before: diff.old_text.clone(),
            after: Some(diff.new_text.clone()),
            diff: String::new(),
        }),
        _ => None,
    });
    AgentCall {
        id: call.tool_call_id.0.to_string(),
        title: if call.title.is_empty() { UNNAMED.to_owned() } else { call.title.clone() },
        input: call.raw_input.clone(),
        state: match call.status {
            ToolCallStatus::Completed => AgentCallState::Done,
            ToolCallStatus::Failed => AgentCallState::Failed,
            _ => AgentCallState::Open,
        },
        text: texts.collect::<Vec<_>>().join("\n"),
        edits: edits.collect(),
    }
}

/// A command as text or as its words.
fn words(command: &Value) -> Option<String> {
    match command {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(words.join(" "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn update(value: Value) -> ToolCallUpdate {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_an_agent_wants_is_read_from_everything_that_it_said_of_the_call() {
        let calls = Calls::default();
        let call = json!({ "toolCallId": "1", "title": "rm x", "kind": "execute", "rawInput": { "command": ["rm", "x"] } });
        let (_, is_new) = calls.announced(serde_json::from_value(call).unwrap());
        assert!(is_new);
        let (call, is_new) = calls.updated(update(json!({ "toolCallId": "1" })));
        assert!(!is_new);
        assert_eq!(calls.wanted(&call).command.as_deref(), Some("rm x"));
        let diff = json!({ "type": "diff", "path": "/w/a", "oldText": null, "newText": "x" });
        let unannounced = json!({ "toolCallId": "2", "kind": "edit", "content": [diff] });
        let (call, is_new) = calls.updated(update(unannounced));
        let wanted = calls.wanted(&call);
        assert!(is_new && !wanted.reads_only);
        assert_eq!(wanted.writes, [PathBuf::from("/w/a")]);
        assert_eq!(wanted.title, UNNAMED);
        let (call, _) = calls.updated(update(json!({ "toolCallId": "3", "kind": "read" })));
        assert!(calls.wanted(&call).reads_only);
    }
}
