//! One round: the calls of a reply are run, and what began and ended is journaled around them.
//!
//! What runs together and that each call gets one result is the runtime's round. The door notes
//! each call as begun right before it runs, and the transcript notes each step of the round as
//! ended, so that a crash in between leaves known which calls ran. Behind the last step follow the
//! results themselves.

use std::sync::Arc;
use std::time::Instant;

use petasos_contract::call::{Content as Shown, ToolCall, ToolResult};
use petasos_contract::context::CALLER_DEADLINE;
use petasos_contract::event::Event;
use petasos_contract::message::{Content, Message, Part, ToolMessage};
use petasos_contract::{CallContext, TurnId};
use petasos_runtime::round::{self, RoundJournal};
use petasos_store::{StoreError, Stored};
use serde_json::Value;

use crate::engine::Engine;
use crate::result_view;
use crate::steer::Word;
use crate::transcript::Transcript;

/// How much of a result an event shows.
const PREVIEW_CHARS: usize = 200;

/// Runs the calls of a reply. Results are in call order, one for each.
pub(crate) async fn run(
    engine: &Arc<Engine>,
    transcript: &Transcript,
    calls: Vec<ToolCall>,
    cx: &CallContext,
) -> Result<Vec<ToolResult>, StoreError> {
    transcript.arm();
    round::run_journaled(&engine.dispatcher, calls, cx, transcript).await
}

impl RoundJournal for Transcript {
    type Error = StoreError;

    fn step(&self, cx: &CallContext) -> CallContext {
        CallContext { deadline: Instant::now() + CALLER_DEADLINE, ..cx.clone() }
    }

    async fn ended(&self, results: &[ToolResult]) -> Result<(), StoreError> {
        self.note_ended(results).await
    }
}

/// The results as messages, the user's words behind the last of them.
pub(crate) fn messages(results: &[ToolResult], words: &[Word], turn: &TurnId) -> Vec<Stored> {
    let mut stored: Vec<Stored> = results
        .iter()
        .map(|result| {
            let message = ToolMessage {
                tool_call_id: result.id.clone(),
                name: Some(result.name.clone()),
                content: content(&result.content),
            };
            Stored {
                turn: Some(turn.clone()),
                disposition: Some(result.disposition),
                ..Stored::new(Message::Tool(message))
            }
        })
        .collect();
    if let Some(Stored { message: Message::Tool(last), .. }) = stored.last_mut() {
        for word in words {
            add(&mut last.content, &word.text());
        }
    }
    stored
}

fn add(content: &mut Content, text: &str) {
    match content {
        Content::Text(whole) => {
            whole.push_str("\n\n");
            whole.push_str(text);
        }
        Content::Parts(parts) => parts.push(Part::text(text)),
    }
}

fn content(shown: &Shown) -> Content {
    match shown {
        Shown::Text(text) => Content::Text(text.clone()),
        Shown::Multimodal(many) => {
            let part = |value: &Value| serde_json::from_value::<Part>(value.clone()).ok();
            let parts: Vec<Part> = many.content.iter().filter_map(part).collect();
            if parts.is_empty() { Content::Text(many.text()) } else { Content::Parts(parts) }
        }
    }
}

/// Tells surfaces that results are stored.
pub(crate) fn tell(results: &[ToolResult], cx: &CallContext) {
    for result in results {
        cx.events.emit(|| Event::ToolAnswered {
            session: cx.session.clone(),
            call: result.id.clone(),
            tool: result.name.clone(),
            status: result.status,
            preview: result.content.text().chars().take(PREVIEW_CHARS).collect(),
            view: result_view::of(&result.content.text()),
        });
    }
}
