//! From what happens in a session to what an editor is told.
//!
//! A state machine without I/O: events in, updates out. Every call has one id through its life, and
//! none is left open at the end of a turn.

mod begun;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, ContentBlock, ContentChunk, Cost, MessageId, Notice,
    NoticeSeverity, SessionUpdate, Terminal, TerminalId, TextContent, ToolCall, ToolCallContent,
    ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use petasos_contract::call::Status;
use petasos_contract::event::Event;
use petasos_contract::plan::FileEdit;
use petasos_contract::reply::{self, Delta};
use petasos_contract::{CallId, SessionId};
use petasos_session::{Page, SessionEvent, SubmissionId, call_above};
use serde_json::{Map, Value, json};

use crate::shown;
use crate::texts::{fenced, places, plan, printed, told};
use begun::BegunCall;

/// What the client can show.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Abilities {
    /// Notices of their own.
    pub(crate) notices: bool,
    /// Compression of the conversation.
    pub(crate) compaction: bool,
}

/// What is known about a call beyond its events.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallRecord {
    /// The whole result.
    pub(crate) result: Option<String>,
    /// The files that it changed, before and after.
    pub(crate) diffs: Vec<FileDiff>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileDiff {
    pub(crate) path: PathBuf,
    /// Nothing for a new file.
    pub(crate) old: Option<String>,
    pub(crate) new: String,
}

impl FileDiff {
    /// What an edit would do; a file that goes becomes empty.
    pub(crate) fn of(edit: &FileEdit) -> Self {
        let new = edit.after.clone().unwrap_or_default();
        Self { path: edit.path.clone(), old: edit.before.clone(), new }
    }

    pub(crate) fn content(&self) -> ToolCallContent {
        let diff = agent_client_protocol_schema::v1::Diff::new(self.path.clone(), self.new.clone());
        ToolCallContent::Diff(diff.old_text(self.old.clone()))
    }
}

/// Looks up what is known about calls, and hides secrets.
pub(crate) trait Lookup: Send + Sync {
    fn record(&self, call: &CallId) -> CallRecord;
    fn redact(&self, text: &str) -> String;
}

struct OpenCall {
    wire: ToolCallId,
    tool: String,
    printed: String,
    /// The client's terminal that it runs in.
    terminal: Option<TerminalId>,
    /// What the client was told about it.
    fields: ToolCallUpdateFields,
}

/// The renderer of one session for one client.
pub(crate) struct Renderer {
    cwd: PathBuf,
    tag: String,
    abilities: Abilities,
    lookup: Arc<dyn Lookup>,
    /// The words of messages whose turns have not begun.
    submitted: HashMap<SubmissionId, String>,
    messages: u64,
    /// Request, attempt and kind of the message that is being said.
    saying: Option<(u32, u32, bool, MessageId)>,
    /// The newest request of which something was said.
    said: Option<u32>,
    calls: HashMap<String, OpenCall>,
    /// Calls of the reply that is on its way, by the model's names of them.
    begun: HashMap<String, BegunCall>,
    /// How often an id was used before: some models count from zero in every reply.
    used: HashMap<String, u32>,
    window: u64,
    cost: Option<f64>,
    compactions: u32,
}

impl Renderer {
    pub(crate) fn new(
        cwd: PathBuf,
        tag: String,
        abilities: Abilities,
        lookup: Arc<dyn Lookup>,
    ) -> Self {
        Self {
            cwd,
            tag,
            abilities,
            lookup,
            submitted: HashMap::new(),
            messages: 0,
            saying: None,
            said: None,
            calls: HashMap::new(),
            begun: HashMap::new(),
            used: HashMap::new(),
            window: 0,
            cost: None,
            compactions: 0,
        }
    }

    /// The window of the model, and what the conversation cost so far.
    pub(crate) fn measure(&mut self, window: u64, cost: Option<f64>) {
        self.window = window;
        if cost.is_some() {
            self.cost = cost;
        }
    }

    /// The client is shown everything from the beginning: what it knew of calls counts no longer.
    pub(crate) fn forget(&mut self) {
        self.calls.clear();
        self.begun.clear();
        self.used.clear();
    }

    /// The id by which the client knows a call, and what it was told about it.
    pub(crate) fn announced(&self, call: &CallId) -> Option<(ToolCallId, ToolCallUpdateFields)> {
        self.calls.get(call.as_str()).map(|open| (open.wire.clone(), open.fields.clone()))
    }

    /// The tool of a call that has no result yet.
    pub(crate) fn tool(&self, call: &CallId) -> Option<&str> {
        self.calls.get(call.as_str()).map(|open| open.tool.as_str())
    }

    /// The words of a message, once its turn begins.
    pub(crate) fn words(&mut self, id: SubmissionId) -> Option<String> {
        self.submitted.remove(&id)
    }

    /// A message of the user.
    pub(crate) fn user(&mut self, text: &str) -> SessionUpdate {
        let id = self.message();
        SessionUpdate::UserMessageChunk(chunk(text, id))
    }

    /// A message of the user that is more than text: its blocks are pieces of one message.
    pub(crate) fn user_blocks(&mut self, blocks: Vec<ContentBlock>) -> Vec<SessionUpdate> {
        let id = self.message();
        let chunk = |block| ContentChunk::new(block).message_id(id.clone());
        blocks.into_iter().map(|block| SessionUpdate::UserMessageChunk(chunk(block))).collect()
    }

    /// Something that the program says by itself.
    pub(crate) fn page(&mut self, page: &Page) -> SessionUpdate {
        let (severity, text) = match page {
            Page::Markdown(text) => return self.agent(text),
            Page::Note(text) => (NoticeSeverity::Info, text),
            Page::Warning(text) => (NoticeSeverity::Warning, text),
        };
        self.notice(severity, text)
    }

    pub(crate) fn notice(&mut self, severity: NoticeSeverity, text: &str) -> SessionUpdate {
        if self.abilities.notices {
            return SessionUpdate::Notice(Notice::new(severity, text));
        }
        let mark = if severity == NoticeSeverity::Info { "" } else { "⚠ " };
        self.agent(&format!("{mark}{text}\n"))
    }

    /// A whole message of the agent.
    pub(crate) fn agent(&mut self, text: &str) -> SessionUpdate {
        let id = self.message();
        SessionUpdate::AgentMessageChunk(chunk(text, id))
    }

    pub(crate) fn thought(&mut self, text: &str) -> SessionUpdate {
        let id = self.message();
        SessionUpdate::AgentThoughtChunk(chunk(text, id))
    }

    fn message(&mut self) -> MessageId {
        self.messages += 1;
        self.saying = None;
        MessageId::new(format!("{}-{}", self.tag, self.messages))
    }

    /// What an event means for the client.
    pub(crate) fn event(&mut self, event: &SessionEvent) -> Vec<SessionUpdate> {
        match event {
            SessionEvent::Agent(event) => self.agent_event(event),
            SessionEvent::Submitted { id, text } => {
                self.submitted.insert(*id, text.clone());
                Vec::new()
            }
            SessionEvent::TurnStarted { .. } => {
                (self.saying, self.said) = (None, None);
                Vec::new()
            }
            SessionEvent::TurnEnded { .. } => self.close(),
            SessionEvent::Page(page) => vec![self.page(page)],
            _ => Vec::new(),
        }
    }

    fn agent_event(&mut self, event: &Event) -> Vec<SessionUpdate> {
        match event {
            Event::Delta { request, attempt, delta, .. } => {
                let of = (*request, *attempt);
                let mut updates = self.replaced(of);
                updates.extend(match delta {
                    Delta::CallStarted { name, id, .. } => self.begins(of, name, id),
                    _ => self.delta(of, delta),
                });
                updates
            }
            Event::Replied { request, text, usage, cost, .. } => {
                let mut updates = Vec::new();
                if self.said != Some(*request) && !text.trim().is_empty() {
                    updates.push(self.agent(text));
                }
                self.saying = None;
                updates.push(self.usage(usage, *cost));
                updates
            }
            Event::ToolRequested { call, tool, arguments, .. } => {
                vec![self.requested(call, tool.as_str(), arguments, "")]
            }
            Event::ToolStarted { call, .. } => {
                self.update(call, |fields| fields.status(ToolCallStatus::InProgress))
            }
            Event::ToolOutput { call, text } => {
                if let Some(open) = self.calls.get_mut(call.as_str()) {
                    printed(&mut open.printed, text);
                }
                Vec::new()
            }
            Event::ToolAnswered { call, status, preview, .. } => {
                self.answered(call, *status, preview)
            }
            Event::ToolFinished { call, tool, .. } => self.inner_edit(call, tool.as_str()),
            Event::Notice { text } => vec![self.notice(NoticeSeverity::Info, text)],
            Event::Compressed { how, before, after, .. } => {
                vec![self.compressed(how, *before, *after)]
            }
            Event::Subagent { child, event } => self.subagent(child, event),
            _ => Vec::new(),
        }
    }

    fn delta(&mut self, (request, attempt): (u32, u32), delta: &Delta) -> Option<SessionUpdate> {
        let (text, thought) = match delta {
            Delta::Text { text } => (text, false),
            Delta::Reasoning { text } => (text, true),
            _ => return None,
        };
        if text.is_empty() {
            return None;
        }
        let same = self
            .saying
            .as_ref()
            .filter(|(of, tried, kind, _)| (*of, *tried, *kind) == (request, attempt, thought));
        let id = match same {
            Some((.., id)) => id.clone(),
            None => self.message(),
        };
        self.saying = Some((request, attempt, thought, id.clone()));
        if thought {
            return Some(SessionUpdate::AgentThoughtChunk(chunk(text, id)));
        }
        self.said = Some(request);
        Some(SessionUpdate::AgentMessageChunk(chunk(text, id)))
    }

    fn usage(&mut self, usage: &reply::Usage, cost: reply::Cost) -> SessionUpdate {
        let used = usage.prompt().saturating_add(usage.output);
        if let reply::Cost::Actual { usd } | reply::Cost::Estimated { usd } = cost {
            self.cost = Some(self.cost.unwrap_or_default() + usd);
        }
        let cost = self.cost.filter(|cost| *cost > 0.0).map(|cost| Cost::new(cost, "USD"));
        SessionUpdate::UsageUpdate(UsageUpdate::new(used, self.window.max(used)).cost(cost))
    }

    fn compressed(&mut self, how: &str, before: u64, after: u64) -> SessionUpdate {
        let text =
            format!("The conversation was shortened ({how}): about {before} to {after} tokens.");
        if !self.abilities.compaction {
            return self.thought(&text);
        }
        self.compactions += 1;
        let id = format!("{}-compaction-{}", self.tag, self.compactions);
        let update = CompactionUpdate::new(id, CompactionStatus::Completed);
        let summary = vec![ContentBlock::Text(TextContent::new(text))];
        SessionUpdate::CompactionUpdate(update.summary(summary))
    }

    /// A call that the model asks for. The mark tells whose it is.
    pub(crate) fn requested(
        &mut self,
        call: &CallId,
        tool: &str,
        arguments: &str,
        mark: &str,
    ) -> SessionUpdate {
        self.saying = None;
        let masked = self.lookup.redact(arguments);
        let input: Value = serde_json::from_str(&masked).unwrap_or_else(|_| json!(masked));
        let empty = Map::new();
        let named = input.as_object().unwrap_or(&empty);
        let begun = self.begun.remove(call.as_str());
        let is_new = begun.is_none();
        let wire = begun.map_or_else(|| self.named(call.as_str()), |begun| begun.wire);
        let title = format!("{mark}{}", shown::title(tool, named, &self.cwd));
        let (kind, places) = (shown::kind(tool, named), shown::locations(tool, named, &self.cwd));
        let fields = ToolCallUpdateFields::new()
            .kind(kind)
            .locations(places.clone())
            .raw_input(input.clone());
        let update = if is_new {
            let whole = ToolCall::new(wire.clone(), title).name(tool.to_owned()).kind(kind);
            let whole = whole.status(ToolCallStatus::Pending).locations(places).raw_input(input);
            SessionUpdate::ToolCall(whole)
        } else {
            let rest = fields.clone().title(title).name(tool.to_owned());
            let rest = rest.status(ToolCallStatus::Pending);
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(wire.clone(), rest))
        };
        let (tool, printed) = (tool.to_owned(), String::new());
        let open = OpenCall { wire, tool, printed, terminal: None, fields };
        self.calls.insert(call.to_string(), open);
        update
    }

    /// The id by which the client will know a call: the model's own, as often as it is new.
    fn named(&mut self, call: &str) -> ToolCallId {
        // A subagent's is its model's, too.
        let call = call.rsplit_once('/').map_or(call, |(_, own)| own);
        let count = self.used.entry(call.to_owned()).or_default();
        *count += 1;
        ToolCallId::new(match *count {
            1 => call.to_owned(),
            again => format!("{call}#{again}"),
        })
    }

    /// What calls have printed since this was asked the last time.
    pub(crate) fn output(&mut self, call: &CallId) -> Option<SessionUpdate> {
        let open = self.calls.get(call.as_str())?;
        if open.printed.is_empty() {
            return None;
        }
        let content = vec![fenced(&open.printed)];
        let fields = ToolCallUpdateFields::new().content(content);
        Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(open.wire.clone(), fields)))
    }

    /// A call runs in a terminal of the client, which shows it instead of what we would tell.
    pub(crate) fn terminal(&mut self, call: &CallId, id: &TerminalId) -> Option<SessionUpdate> {
        let open = self.calls.get_mut(call.as_str())?;
        open.terminal = Some(id.clone());
        let fields = ToolCallUpdateFields::new()
            .status(ToolCallStatus::InProgress)
            .content(vec![ToolCallContent::Terminal(Terminal::new(id.clone()))]);
        Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(open.wire.clone(), fields)))
    }

    fn update(
        &self,
        call: &CallId,
        change: impl FnOnce(ToolCallUpdateFields) -> ToolCallUpdateFields,
    ) -> Vec<SessionUpdate> {
        let Some(open) = self.calls.get(call.as_str()) else { return Vec::new() };
        let fields = change(ToolCallUpdateFields::new());
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(open.wire.clone(), fields))]
    }

    /// A call has its result.
    pub(crate) fn answered(
        &mut self,
        call: &CallId,
        status: Status,
        preview: &str,
    ) -> Vec<SessionUpdate> {
        let Some(open) = self.calls.remove(call.as_str()) else { return Vec::new() };
        let CallRecord { result, diffs } = self.lookup.record(call);
        let result = self.lookup.redact(result.as_deref().unwrap_or(preview));
        let output: Value = serde_json::from_str(&result).unwrap_or_else(|_| json!(result));
        let status = match status {
            Status::Ok => ToolCallStatus::Completed,
            _ => ToolCallStatus::Failed,
        };
        let mut fields = ToolCallUpdateFields::new().status(status).raw_output(output.clone());
        let mut content: Vec<ToolCallContent> = diffs.iter().map(FileDiff::content).collect();
        match open.terminal {
            Some(terminal) => content.push(ToolCallContent::Terminal(Terminal::new(terminal))),
            None => content.extend(told(&open.tool, &output, !diffs.is_empty())),
        }
        if !content.is_empty() {
            fields = fields.content(content);
        }
        if !diffs.is_empty() {
            fields = fields.locations(places(&diffs));
        }
        let update = ToolCallUpdate::new(open.wire, fields);
        let mut updates = vec![SessionUpdate::ToolCallUpdate(update)];
        if open.tool == "todo" {
            updates.extend(plan(&output).map(SessionUpdate::Plan));
        }
        updates
    }

    /// An edit by a call that the model did not ask for by name: a script made it.
    fn inner_edit(&mut self, call: &CallId, tool: &str) -> Vec<SessionUpdate> {
        if self.calls.contains_key(call.as_str()) {
            return Vec::new();
        }
        let diffs = self.lookup.record(call).diffs;
        let Some(first) = diffs.first() else { return Vec::new() };
        let path = Value::from(first.path.display().to_string());
        let named = Map::from_iter([("path".to_owned(), path)]);
        let title = format!("↳ {}", shown::title(tool, &named, &self.cwd));
        let edit = ToolCall::new(self.named(call.as_str()), title).name(tool.to_owned());
        let edit = edit.kind(ToolKind::Edit).status(ToolCallStatus::Completed);
        let edit = edit.locations(places(&diffs));
        vec![SessionUpdate::ToolCall(edit.content(diffs.iter().map(FileDiff::content).collect()))]
    }

    /// Calls that have no result when a turn ends have failed.
    pub(crate) fn close(&mut self) -> Vec<SessionUpdate> {
        self.saying = None;
        let fields = || ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
        let open = self.calls.drain().map(|(_, open)| open.wire);
        let open = open.chain(self.begun.drain().map(|(_, begun)| begun.wire));
        let closed = open.map(|wire| ToolCallUpdate::new(wire, fields()));
        closed.map(SessionUpdate::ToolCallUpdate).collect()
    }

    /// Of a subagent its calls are shown, each by whose it is; its words are in its report.
    fn subagent(&mut self, child: &SessionId, event: &Event) -> Vec<SessionUpdate> {
        match event {
            Event::ToolRequested { call, tool, arguments, .. } => {
                let call = call_above(child, call);
                vec![self.requested(&call, tool.as_str(), arguments, "↳ ")]
            }
            Event::ToolStarted { call, .. } => {
                let change =
                    |fields: ToolCallUpdateFields| fields.status(ToolCallStatus::InProgress);
                self.update(&call_above(child, call), change)
            }
            Event::ToolAnswered { call, status, preview, .. } => {
                self.answered(&call_above(child, call), *status, preview)
            }
            Event::ToolFinished { call, tool, .. } => {
                self.inner_edit(&call_above(child, call), tool.as_str())
            }
            Event::Subagent { child, event } => self.subagent(child, event),
            _ => Vec::new(),
        }
    }
}

fn chunk(text: &str, id: MessageId) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text))).message_id(id)
}
