//! What we offer: the tools of a choice of toolsets, through the one door, and our logs.

use std::collections::BTreeSet;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use petasos_contract::call::{Content, Status, ToolCall, ToolResult};
use petasos_contract::context::{CheckContext, Grant, Principal, Surface};
use petasos_contract::effect::Effect;
use petasos_contract::event::{Event, EventSink, Subscriber};
use petasos_contract::ports::Ports;
use petasos_contract::tool::{Concurrency, FileChanges, Provenance, Route};
use petasos_contract::{
    Args, BoxFuture, CallContext, CallId, SessionId, Settings, ToolName, TurnId,
};
use petasos_runtime::Dispatcher;
use petasos_runtime::definitions::{Catalogue, Definition, Wanted};
use petasos_runtime::registry::Entry;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::approve::ByElicitation;
use super::caller::Caller;
use crate::content::{Attached, Piece};
use crate::offer::{Ability, Identity, Offer, OfferError, OfferedResource, OfferedTool, Outcome};

/// How many pieces of output may wait for a slow client before the newest are dropped.
const TOLD_MAX: usize = 64;

/// Logs that a client may read: conversations and background jobs.
pub trait Logs: Send + Sync {
    /// What there is.
    fn list(&self) -> BoxFuture<'_, Vec<LogHead>>;

    /// The text of one.
    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Option<String>>;
}

/// A log.
#[derive(Debug, Clone)]
pub struct LogHead {
    /// Its address.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What it holds.
    pub description: String,
}

/// Our tools as an offer.
pub struct Toolbox {
    door: Arc<Dispatcher>,
    catalogue: Arc<Catalogue>,
    settings: Arc<Settings>,
    ports: Arc<Ports>,
    wanted: Wanted,
    approver: Arc<ByElicitation>,
    logs: Option<Arc<dyn Logs>>,
}

impl Toolbox {
    /// Tools behind this door, which must ask `approver`.
    pub fn new(
        door: Arc<Dispatcher>,
        catalogue: Arc<Catalogue>,
        (settings, ports): (Arc<Settings>, Arc<Ports>),
        approver: Arc<ByElicitation>,
    ) -> Self {
        let wanted = Wanted { whole: true, ..Wanted::default() };
        Self { door, catalogue, settings, ports, wanted, approver, logs: None }
    }

    /// Only these tools.
    #[must_use]
    pub fn with_choice(mut self, wanted: Wanted) -> Self {
        self.wanted = Wanted { whole: true, ..wanted };
        self
    }

    /// With these logs as resources.
    #[must_use]
    pub fn with_logs(mut self, logs: Arc<dyn Logs>) -> Self {
        self.logs = Some(logs);
        self
    }

    /// The definitions a client is shown; the loop's own tools need a loop.
    async fn offered(&self, session: &SessionId) -> Vec<Definition> {
        let check = CheckContext {
            surface: Surface::Mcp,
            attended: true,
            session: session.clone(),
            settings: Arc::clone(&self.settings),
            ports: Arc::clone(&self.ports),
        };
        let definitions = self.catalogue.define(&self.wanted, &check).await;
        let tools = self.catalogue.registry().seen_by(session);
        let ours = |name: &ToolName| {
            tools.get(name.as_str()).is_some_and(|entry| entry.route == Route::Registry)
        };
        definitions.tools.iter().filter(|tool| ours(&tool.name)).cloned().collect()
    }

    fn context(&self, session: SessionId) -> CallContext {
        let mut cx = CallContext::new(Arc::clone(&self.settings), Surface::Mcp, session);
        cx.principal = Principal::McpClient;
        cx
    }

    async fn run(&self, call: ToolCall, cx: &mut CallContext, caller: &Caller) -> ToolResult {
        let _attached = self.approver.attach(cx.turn.clone(), caller);
        if !caller.wants_progress() {
            return self.door.dispatch(call, cx).await;
        }
        let (tell, mut told) = mpsc::channel(TOLD_MAX);
        cx.events = EventSink::to(Arc::new(Telling(tell)));
        let mut running = pin!(self.door.dispatch(call, cx));
        let mut done = 0.0;
        loop {
            tokio::select! {
                biased;
                result = &mut running => return result,
                Some(text) = told.recv() => {
                    done += 1.0;
                    caller.progress(done, None, Some(text)).await;
                }
            }
        }
    }
}

/// Passes the output of a running tool on; what a slow client does not take is dropped, because
/// the result carries all of it.
struct Telling(mpsc::Sender<String>);

impl Subscriber for Telling {
    fn take(&self, event: Event) {
        if let Event::ToolOutput { text, .. } = event
            && self.0.try_send(text).is_err()
        {
            tracing::trace!("a piece of output was not told to the MCP client");
        }
    }
}

fn outcome(result: ToolResult) -> Outcome {
    let is_error = result.status != Status::Ok;
    let content = match result.content {
        Content::Text(text) => vec![Piece::text(text)],
        Content::Multimodal(parts) => parts.content.iter().filter_map(part).collect(),
    };
    Outcome { content, structured: None, is_error }
}

/// A chat-style part as a piece: text, or a picture inside a `data:` address.
fn part(part: &Value) -> Option<Piece> {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        return Some(Piece::text(text));
    }
    let url = part.get("image_url")?.get("url")?.as_str()?;
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime_type = head.split(';').next().unwrap_or("image/png").to_owned();
    Some(Piece::Image { data: data.to_owned(), mime_type })
}

impl Offer for Toolbox {
    fn identity(&self) -> Identity {
        let logs = self.logs.is_some().then_some(Ability::Resources);
        Identity {
            name: "petasos".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: Some(
                "Tools of this machine: commands, files, search and background jobs. Each call is \
                 judged by the user's policy; some ask the user first. A refusal says what to do \
                 next."
                    .to_owned(),
            ),
            abilities: logs.into_iter().collect(),
        }
    }

    fn tools<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Vec<OfferedTool>> {
        Box::pin(async move {
            let session = SessionId::from(session);
            let offered = self.offered(&session).await;
            let tools = self.catalogue.registry().seen_by(&session);
            let shown = |definition: Definition| {
                let entry = tools.get(definition.name.as_str())?;
                let input_schema = schema_of(&definition);
                Some(OfferedTool {
                    name: definition.name.as_str().to_owned(),
                    description: text_of(&definition, "description"),
                    read_only: Some(only_reads(entry, &input_schema)),
                    input_schema,
                    idempotent: Some(entry.idempotent),
                })
            };
            offered.into_iter().filter_map(shown).collect()
        })
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: Map<String, Value>,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<Outcome, OfferError>> {
        Box::pin(async move {
            let session = SessionId::from(caller.session());
            let offered = self.offered(&session).await;
            let granted: BTreeSet<ToolName> = offered.into_iter().map(|tool| tool.name).collect();
            if !granted.contains(tool) {
                return Err(OfferError::Unknown { kind: "tool", name: tool.to_owned() });
            }
            let mut cx = self.context(session);
            cx.grant = Arc::new(Grant::Only(granted));
            cx.cancel = caller.cancelled().child_token();
            let call = call_id();
            // What a client does between its requests is not known here: each is a turn of its own.
            cx.turn = TurnId::new(format!("{}-{call}", cx.session));
            let _turn = EndsTurn { door: &self.door, turn: cx.turn.clone() };
            let call = ToolCall::new(call, tool, Value::Object(arguments).to_string());
            Ok(outcome(self.run(call, &mut cx, caller).await))
        })
    }

    fn tools_version(&self) -> u64 {
        self.catalogue.registry().snapshot().generation()
    }

    fn resources(&self) -> BoxFuture<'_, Vec<OfferedResource>> {
        Box::pin(async move {
            let Some(logs) = &self.logs else { return Vec::new() };
            let shown = |log: LogHead| OfferedResource {
                uri: log.uri,
                name: log.name,
                description: log.description,
                mime_type: "text/plain".to_owned(),
            };
            logs.list().await.into_iter().map(shown).collect()
        })
    }

    fn templates(&self) -> Vec<OfferedResource> {
        let template = |kind: &str, what: &str| OfferedResource {
            uri: format!("petasos://{kind}/{{id}}"),
            name: kind.to_owned(),
            description: what.to_owned(),
            mime_type: "text/plain".to_owned(),
        };
        if self.logs.is_none() {
            return Vec::new();
        }
        vec![
            template("sessions", "A conversation"),
            template("jobs", "The log of a background job"),
        ]
    }

    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<Attached, OfferError>> {
        Box::pin(async move {
            let text = match &self.logs {
                Some(logs) => logs.read(uri).await,
                None => None,
            };
            let text =
                text.ok_or_else(|| OfferError::Unknown { kind: "resource", name: uri.to_owned() })?;
            let mime_type = Some("text/plain".to_owned());
            Ok(Attached { uri: uri.to_owned(), mime_type, text: Some(text), blob: None })
        })
    }
}

/// Ends a turn however its request ends.
struct EndsTurn<'a> {
    door: &'a Dispatcher,
    turn: TurnId,
}

impl Drop for EndsTurn<'_> {
    fn drop(&mut self) {
        self.door.end_turn(&self.turn);
    }
}

/// Whether a tool changes nothing, by its declaration and by the effects that it states for an
/// example of its arguments. A stranger's that states none is not taken at its word.
fn only_reads(entry: &Entry, schema: &Map<String, Value>) -> bool {
    if entry.changes != FileChanges::None {
        return false;
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let example = properties.into_iter().flatten().filter_map(|(name, property)| {
        let value = match property.get("enum").and_then(|values| values.get(0)) {
            Some(value) => value.clone(),
            None => json!(property.get("type").filter(|kind| *kind == "string").map(|_| "x")?),
        };
        Some((name.clone(), value))
    });
    let effects = entry.tool.effects(&Args::new(example.collect()));
    let mut stated = effects.iter().peekable();
    if stated.peek().is_some() {
        return stated.all(|effect| matches!(effect, Effect::Read(_)));
    }
    let beside = matches!(entry.concurrency, Concurrency::Safe | Concurrency::ByPath { .. });
    entry.provenance != Provenance::Foreign && beside
}

fn call_id() -> CallId {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    CallId::new(format!("mcp-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

fn text_of(definition: &Definition, key: &str) -> String {
    let value = definition.function.get(key).and_then(Value::as_str);
    value.unwrap_or_default().to_owned()
}

fn schema_of(definition: &Definition) -> Map<String, Value> {
    let schema = definition.function.get("parameters").and_then(Value::as_object).cloned();
    schema.unwrap_or_else(|| {
        let empty = json!({ "type": "object", "properties": {} });
        empty.as_object().cloned().unwrap_or_default()
    })
}

impl fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Toolbox").field("wanted", &self.wanted).finish_non_exhaustive()
    }
}
