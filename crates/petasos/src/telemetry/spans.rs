//! From events to spans: a turn, its requests to models, its tool calls, and those of subagents
//! below the turn that started them.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use petasos_contract::call::Status;
use petasos_contract::event::Event;
use petasos_contract::{CallId, SessionId};
use petasos_redact::Redactor;
use serde_json::{Map, Value, json};

/// Turns that are under way, and what is ready to be sent.
#[derive(Debug, Default)]
pub(super) struct Spans {
    turns: HashMap<SessionId, Turn>,
    /// Subagents, and the trace and span that they belong below.
    below: HashMap<SessionId, (String, String)>,
    ended: Vec<Value>,
}

#[derive(Debug)]
struct Turn {
    trace: String,
    span: String,
    parent: Option<String>,
    started: u128,
    /// Since when a model is being asked: the begin of the turn, or the last result.
    asked: u128,
    tools: HashMap<CallId, u128>,
    arguments: HashMap<CallId, String>,
}

impl Spans {
    /// What is ready.
    pub(super) fn ended(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.ended)
    }

    /// Takes one event; texts only through the mask, when they are wanted at all.
    pub(super) fn take(&mut self, event: &Event, content: Option<&Redactor>) {
        let now = now();
        match event {
            Event::TurnStarted { session, .. } => self.begin(session, now),
            Event::ToolRequested { session, call, arguments, .. } => {
                if let (Some(turn), Some(redactor)) = (self.turns.get_mut(session), content) {
                    turn.arguments.insert(call.clone(), redactor.text(arguments).into_owned());
                }
            }
            Event::ToolStarted { session, call, .. } => {
                if let Some(turn) = self.turns.get_mut(session) {
                    turn.tools.insert(call.clone(), now);
                }
            }
            Event::ToolFinished { session, call, tool, status, .. } => {
                let Some(turn) = self.turns.get_mut(session) else { return };
                let started = turn.tools.remove(call).unwrap_or(now);
                turn.asked = now;
                let mut about = Attributes::of("execute_tool");
                about.text("gen_ai.tool.name", tool.as_str());
                about.text("gen_ai.tool.call.id", call.as_str());
                if *status != Status::Ok {
                    about.text("error.type", status.as_str());
                }
                if let Some(arguments) = turn.arguments.remove(call) {
                    about.text("gen_ai.tool.call.arguments", &arguments);
                }
                let name = format!("execute_tool {tool}");
                let span = turn.inner(&name, (started, now), about, *status == Status::Ok);
                self.ended.push(span);
            }
            Event::Replied { session, served, usage, finish, text, .. } => {
                let Some(turn) = self.turns.get_mut(session) else { return };
                let mut about = Attributes::of("chat");
                about.text("gen_ai.provider.name", &served.provider);
                about.text("gen_ai.response.model", &served.model);
                about.number("gen_ai.usage.input_tokens", usage.prompt());
                about.number("gen_ai.usage.output_tokens", usage.output);
                about.number("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
                about.text("gen_ai.response.finish_reason", &format!("{finish:?}").to_lowercase());
                if let Some(redactor) = content {
                    about.text("gen_ai.output.messages", &redactor.text(text));
                }
                let name = format!("chat {}", served.model);
                let span = turn.inner(&name, (turn.asked, now), about, true);
                turn.asked = now;
                self.ended.push(span);
            }
            Event::SubagentStarted { session, child, .. } => {
                if let Some(turn) = self.turns.get(session) {
                    let place = (turn.trace.clone(), turn.span.clone());
                    self.below.insert(child.clone(), place);
                }
            }
            Event::SubagentEnded { child, .. } => drop(self.below.remove(child)),
            Event::TurnEnded { session, end, requests, usage, .. } => {
                let Some(turn) = self.turns.remove(session) else { return };
                let mut about = Attributes::of("invoke_agent");
                about.text("gen_ai.agent.name", "petasos");
                about.text("gen_ai.conversation.id", session.as_str());
                about.text("petasos.turn.end", end);
                about.number("petasos.turn.requests", u64::from(*requests));
                about.number("gen_ai.usage.input_tokens", usage.prompt());
                about.number("gen_ai.usage.output_tokens", usage.output);
                self.ended.push(turn.outer((turn.started, now), about, end != "failed"));
            }
            _ => {}
        }
    }

    fn begin(&mut self, session: &SessionId, now: u128) {
        let (trace, parent) = match self.below.get(session) {
            Some((trace, span)) => (trace.clone(), Some(span.clone())),
            None => (random::<16>(), None),
        };
        let turn = Turn {
            trace,
            span: random::<8>(),
            parent,
            started: now,
            asked: now,
            tools: HashMap::new(),
            arguments: HashMap::new(),
        };
        self.turns.insert(session.clone(), turn);
    }
}

impl Turn {
    fn inner(&self, name: &str, time: (u128, u128), about: Attributes, good: bool) -> Value {
        let ids = (random::<8>(), Some(self.span.clone()));
        span(&self.trace, ids, name, time, (about, good))
    }

    fn outer(&self, time: (u128, u128), about: Attributes, good: bool) -> Value {
        let ids = (self.span.clone(), self.parent.clone());
        span(&self.trace, ids, "invoke_agent petasos", time, (about, good))
    }
}

fn span(
    trace: &str,
    (id, parent): (String, Option<String>),
    name: &str,
    (from, to): (u128, u128),
    (about, good): (Attributes, bool),
) -> Value {
    // Codes of the protocol: a client's call is 3, an inner one 1; 1 is well, 2 an error.
    let kind = if name.starts_with("chat ") { 3 } else { 1 };
    json!({
        "traceId": trace, "spanId": id, "parentSpanId": parent.unwrap_or_default(), "name": name,
        "kind": kind, "startTimeUnixNano": from.to_string(), "endTimeUnixNano": to.to_string(),
        "attributes": about.0, "status": { "code": if good { 1 } else { 2 } },
    })
}

struct Attributes(Vec<Value>);

impl Attributes {
    fn of(operation: &str) -> Self {
        let mut new = Self(Vec::new());
        new.text("gen_ai.operation.name", operation);
        new
    }

    fn text(&mut self, key: &str, value: &str) {
        self.0.push(json!({ "key": key, "value": { "stringValue": value } }));
    }

    fn number(&mut self, key: &str, value: u64) {
        let mut number = Map::new();
        // Whole numbers of 64 bits are texts in this encoding.
        number.insert("intValue".to_owned(), Value::from(value.to_string()));
        self.0.push(json!({ "key": key, "value": number }));
    }
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// So many random bytes in hexadecimal digits.
fn random<const BYTES: usize>() -> String {
    let mut bytes = [0_u8; BYTES];
    if getrandom::fill(&mut bytes).is_err() {
        // Without a source of randomness the time still tells traces apart.
        for (byte, time) in bytes.iter_mut().zip(now().to_be_bytes().iter().rev()) {
            *byte = *time;
        }
    }
    bytes.iter().fold(String::with_capacity(2 * BYTES), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}
