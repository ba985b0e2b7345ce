//! The outgoing copy of a conversation, mended so that every dialect accepts it.
//!
//! Whatever the stored history looks like: results follow their calls, one for one and in order;
//! turns of one speaker are joined; silent assistant messages are left out; arguments are
//! objects with sorted keys, so that equal histories give equal bytes. The stored history itself
//! is not touched.

use petasos_contract::message::{Assistant, Content, Message, Part, ToolMessage};
use petasos_contract::model::Prompt;
use serde_json::{Map, Value};

use super::assemble::stand_in_id;
use super::images::{self, Images};
use super::node::canonical;

/// What a call without a result is answered with.
const NO_RESULT: &str = "[result unavailable]";

/// One turn of the outgoing copy.
#[derive(Debug, Clone)]
pub enum Turn {
    /// A person's.
    User(Vec<Part>),
    /// A model's.
    Assistant(Said),
    /// The results of the calls of the turn before, in their order.
    Results(Vec<Given>),
}

/// A model's turn.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// Visible text.
    pub text: String,
    /// Visible reasoning.
    pub reasoning: Option<String>,
    /// Its calls.
    pub calls: Vec<Call>,
    /// Blocks to replay; none when mending changed what they belong to.
    pub replay: Option<petasos_contract::message::Replay>,
}

/// A call with arguments that are an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Never blank.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Sorted by key.
    pub arguments: Map<String, Value>,
    /// JSON text that only its provider understands.
    pub provider_data: Option<String>,
}

impl Call {
    /// The arguments as compact text.
    pub fn arguments_text(&self) -> String {
        Value::Object(self.arguments.clone()).to_string()
    }
}

/// The result of one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// The call's identity.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What came back.
    pub content: Content,
}

/// Mends a conversation.
pub fn mend(messages: &[Message], images: Images) -> Vec<Turn> {
    mend_for(messages, images, "")
}

/// Mends a conversation and keeps silent messages whose blocks this issuer wants back.
pub fn mend_for(messages: &[Message], images: Images, issuer: &str) -> Vec<Turn> {
    let wanted = |said: &Assistant| {
        !said.is_silent() || said.replay.as_ref().is_some_and(|replay| replay.issuer == issuer)
    };
    let mut turns = Vec::new();
    let mut rest = messages.iter().enumerate().peekable();
    let last_user = messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    while let Some((at, message)) = rest.next() {
        match message {
            Message::User { content } => {
                let keep = !images.drops_old() || Some(at) == last_user;
                user(&mut turns, images::parts(content, keep));
            }
            // A result without its call is an orphan, whatever it says.
            Message::Tool(_) => {}
            Message::Assistant(assistant) => {
                let mut results = Vec::new();
                while let Some((_, Message::Tool(result))) =
                    rest.next_if(|(_, next)| matches!(next, Message::Tool(_)))
                {
                    results.push(result);
                }
                if wanted(assistant) {
                    say(&mut turns, assistant, &results, images);
                }
            }
        }
    }
    turns
}

fn user(turns: &mut Vec<Turn>, mut parts: Vec<Part>) {
    parts.retain(|part| !matches!(part, Part::Text { text } if text.is_empty()));
    if let Some(Turn::User(before)) = turns.last_mut() {
        before.append(&mut parts);
    } else {
        turns.push(Turn::User(parts));
    }
}

fn say(turns: &mut Vec<Turn>, said: &Assistant, results: &[&ToolMessage], images: Images) {
    let mut left = results.to_vec();
    let mut calls: Vec<Call> = Vec::new();
    let mut given = Vec::new();
    let mut whole = true;
    for (index, call) in said.tool_calls.iter().enumerate() {
        let arguments = object(&call.arguments);
        let mut id = call.id.as_str().trim().to_owned();
        let reused = calls.iter().any(|earlier| earlier.id == id);
        whole &= arguments.is_some() && !id.is_empty() && !reused;
        if id.is_empty() || reused {
            id = stand_in_id(call.name.as_str(), &call.arguments, index);
        }
        let found = left.iter().position(|result| result.tool_call_id == call.id);
        let content = match found.map(|at| left.remove(at)) {
            Some(result) => images::result(&result.content, images),
            None => Content::Text(NO_RESULT.to_owned()),
        };
        given.push(Given { id: id.clone(), name: call.name.to_string(), content });
        calls.push(Call {
            id,
            name: call.name.to_string(),
            arguments: arguments.unwrap_or_default(),
            provider_data: call.provider_data.clone(),
        });
    }
    let text = clean(said.text());
    let replay = said.replay.clone().filter(|_| whole);
    let next = Said { text, reasoning: said.reasoning.clone(), calls, replay };
    join(turns, next);
    if !given.is_empty() {
        turns.push(Turn::Results(given));
    }
}

/// Puts a model's turn, joining it with one that came right before.
fn join(turns: &mut Vec<Turn>, next: Said) {
    // What is replayed stays a message of its own.
    let joins = |turn: &&mut Turn| match turn {
        Turn::Assistant(before) => before.replay.is_none() && next.replay.is_none(),
        Turn::User(_) | Turn::Results(_) => false,
    };
    let Some(Turn::Assistant(before)) = turns.last_mut().filter(joins) else {
        turns.push(Turn::Assistant(next));
        return;
    };
    if !before.text.is_empty() && !next.text.is_empty() {
        before.text.push_str("\n\n");
    }
    before.text.push_str(&next.text);
    before.calls = next.calls;
    before.replay = None;
    before.reasoning = next.reasoning.or(before.reasoning.take());
}

fn object(text: &str) -> Option<Map<String, Value>> {
    let value = serde_json::from_str::<Value>(text).ok()?;
    match canonical(&value) {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

/// Where an answer ends, as a list: chat completions also take a single text.
pub fn stops(prompt: &Prompt) -> Option<Vec<Value>> {
    match prompt.extra.get("stop")? {
        Value::Array(stops) => Some(stops.clone()),
        one => Some(vec![one.clone()]),
    }
}

/// Text without the one character that several servers refuse.
pub fn clean(text: &str) -> String {
    text.replace('\0', "")
}
