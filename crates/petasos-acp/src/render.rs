//! From what happens in a session to what an editor is told.
//!
//! A state machine without I/O: events in, updates out. Every call has one id through its life, and
//! none is left open at the end of a turn.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CompactionStatus, CompactionUpdate, Content, ContentBlock, ContentChunk, Cost, MessageId,
    Notice, NoticeSeverity, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    Terminal, TerminalId, TextContent, ToolCall, ToolCallContent, ToolCallId, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, UsageUpdate,
};
use petasos_contract::CallId;
use petasos_contract::call::Status;
use petasos_contract::event::Event;
use petasos_contract::plan::FileEdit;
use petasos_contract::reply::{self, Delta};
use petasos_session::{Page, SessionEvent, SubmissionId};
use serde_json::{Map, Value, json};

use crate::shown;

/// So much of what a command prints is shown while it runs.
const OUTPUT_CHARS: usize = 16_000;

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

    /// The id by which the client knows a call, and what it was told about it.
    pub(crate) fn announced(&self, call: &CallId) -> Option<(ToolCallId, ToolCallUpdateFields)> {
        self.calls.get(call.as_str()).map(|open| (open.wire.clone(), open.fields.clone()))
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
                self.delta(*request, *attempt, delta).into_iter().collect()
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
            Event::Notice { text } => vec![self.notice(NoticeSeverity::Info, text)],
            Event::Compressed { how, before, after, .. } => {
                vec![self.compressed(how, *before, *after)]
            }
            Event::Subagent { event, .. } => self.subagent(event),
            _ => Vec::new(),
        }
    }

    fn delta(&mut self, request: u32, attempt: u32, delta: &Delta) -> Option<SessionUpdate> {
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
        let count = self.used.entry(call.to_string()).or_default();
        *count += 1;
        let wire = match *count {
            1 => call.to_string(),
            again => format!("{call}#{again}"),
        };
        let wire = ToolCallId::new(wire);
        let title = format!("{mark}{}", shown::title(tool, named, &self.cwd));
        let (kind, places) = (shown::kind(tool, named), shown::locations(tool, named, &self.cwd));
        let fields = ToolCallUpdateFields::new()
            .kind(kind)
            .locations(places.clone())
            .raw_input(input.clone());
        let update = ToolCall::new(wire.clone(), title)
            .name(tool.to_owned())
            .kind(kind)
            .status(ToolCallStatus::Pending)
            .locations(places)
            .raw_input(input.clone());
        let (tool, printed) = (tool.to_owned(), String::new());
        let open = OpenCall { wire, tool, printed, terminal: None, fields };
        self.calls.insert(call.to_string(), open);
        SessionUpdate::ToolCall(update)
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
        let update = ToolCallUpdate::new(open.wire, fields);
        let mut updates = vec![SessionUpdate::ToolCallUpdate(update)];
        if open.tool == "todo" {
            updates.extend(plan(&output).map(SessionUpdate::Plan));
        }
        updates
    }

    /// Calls that have no result when a turn ends have failed.
    pub(crate) fn close(&mut self) -> Vec<SessionUpdate> {
        self.saying = None;
        let fields = || ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
        let open = self.calls.drain();
        let closed = open.map(|(_, open)| ToolCallUpdate::new(open.wire, fields()));
        closed.map(SessionUpdate::ToolCallUpdate).collect()
    }

    /// Of a subagent its calls are shown; its words are in its report.
    fn subagent(&mut self, event: &Event) -> Vec<SessionUpdate> {
        match event {
            Event::ToolRequested { call, tool, arguments, .. } => {
                vec![self.requested(call, tool.as_str(), arguments, "↳ ")]
            }
            Event::ToolStarted { .. } | Event::ToolAnswered { .. } | Event::ToolOutput { .. } => {
                self.agent_event(event)
            }
            Event::Subagent { event, .. } => self.subagent(event),
            _ => Vec::new(),
        }
    }
}

fn chunk(text: &str, id: MessageId) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text))).message_id(id)
}

/// Adds to what was printed; of much only the end is kept.
fn printed(all: &mut String, text: &str) {
    all.push_str(text);
    let count = all.chars().count();
    if count > OUTPUT_CHARS * 2 {
        *all = all.chars().skip(count - OUTPUT_CHARS).collect();
    }
}

/// Text as an editor shows what a program printed, whatever fences are in it.
fn fenced(text: &str) -> ToolCallContent {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let count = text.chars().count();
    let shown: String = text.chars().skip(count.saturating_sub(OUTPUT_CHARS)).collect();
    plain(&format!("{fence}\n{}\n{fence}", shown.trim_end()))
}

fn plain(text: &str) -> ToolCallContent {
    ToolCallContent::Content(Content::new(ContentBlock::Text(TextContent::new(text))))
}

/// What a person reads of a result.
fn told(tool: &str, output: &Value, has_diff: bool) -> Option<ToolCallContent> {
    let field = |key: &str| output.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    if let Some(error) = field("error") {
        return Some(plain(error));
    }
    match tool {
        "todo" => None,
        _ if has_diff => None,
        "terminal" | "execute_code" | "process" => field("output").map(fenced),
        "read_file" => field("content").map(fenced),
        "patch" => field("diff").map(fenced),
        _ => match output {
            Value::String(text) if !text.trim().is_empty() => Some(fenced(text)),
            Value::String(_) | Value::Null => None,
            other => serde_json::to_string_pretty(other).ok().as_deref().map(fenced),
        },
    }
}

/// The whole list of tasks, as the `todo` tool gives it back.
pub(crate) fn plan(output: &Value) -> Option<Plan> {
    let todos = output.get("todos")?.as_array()?;
    let entries = todos.iter().filter_map(|todo| {
        let text = |key: &str| todo.get(key).and_then(Value::as_str);
        let status = match text("status").unwrap_or_default() {
            "in_progress" => PlanEntryStatus::InProgress,
            // The protocol has no word for what was given up: it is done with.
            "completed" | "cancelled" => PlanEntryStatus::Completed,
            _ => PlanEntryStatus::Pending,
        };
        let content = text("content").filter(|content| !content.is_empty()).or(text("id"))?;
        Some(PlanEntry::new(content, PlanEntryPriority::Medium, status))
    });
    Some(Plan::new(entries.collect()))
}
