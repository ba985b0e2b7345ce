//! One round: the calls of a reply are run, and what began and ended is journaled around them.
//!
//! What runs together and that each call gets one result is the runtime's round. The door notes
//! each call as begun right before it runs, and the transcript notes each step of the round as
//! ended, so that a crash in between leaves known which calls ran. Behind the last step follow the
//! results themselves.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use petasos_contract::call::{Content as Shown, Disposition, ToolCall, ToolResult};
use petasos_contract::context::CALLER_DEADLINE;
use petasos_contract::event::Event;
use petasos_contract::message::{Content, Message, Part, RequestedCall, ToolMessage};
use petasos_contract::{CallContext, TurnId};
use petasos_runtime::round::{self, RoundJournal};
use petasos_store::{StoreError, Stored};
use serde_json::Value;

use crate::engine::Engine;
use crate::hints::Hints;
use crate::result_view;
use crate::steer::Word;
use crate::transcript::Transcript;

/// How much of a result an event shows.
const PREVIEW_CHARS: usize = 200;
/// What a model that reads only text is told of a picture without words.
const UNSEEN: &str = "[a picture, which this model cannot see]";

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

/// The results as messages, for a model that sees pictures or not.
pub(crate) fn messages(results: &[ToolResult], turn: &TurnId, sees: bool) -> Vec<Stored> {
    results
        .iter()
        .map(|result| {
            let message = ToolMessage {
                tool_call_id: result.id.clone(),
                name: Some(result.name.clone()),
                content: content(&result.content, sees),
            };
            Stored {
                turn: Some(turn.clone()),
                disposition: Some(result.disposition),
                ..Stored::new(Message::Tool(message))
            }
        })
        .collect()
}

/// Puts the user's words behind the last result.
pub(crate) fn steer(stored: &mut [Stored], words: &[Word]) {
    if let Some(Stored { message: Message::Tool(last), .. }) = stored.last_mut() {
        for word in words {
            add(&mut last.content, &word.text());
        }
    }
}

/// Tells the model of instructions in the folders that its calls have come to.
pub(crate) fn hint(rows: &mut [Stored], calls: &[RequestedCall], hints: &mut Hints, at: &Path) {
    for (row, call) in rows.iter_mut().zip(calls) {
        let Message::Tool(result) = &mut row.message else { continue };
        if row.disposition == Some(Disposition::Done)
            && let Some(path) = path_of(&call.arguments)
            && let Some(hint) = hints.of(at, &path)
        {
            add(&mut result.content, &hint);
        }
    }
}

/// The path that a call is about, where it says one.
pub(crate) fn path_of(arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    arguments.get("path")?.as_str().map(str::to_owned)
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

fn content(shown: &Shown, sees: bool) -> Content {
    match shown {
        Shown::Text(text) => Content::Text(text.clone()),
        Shown::Multimodal(many) if !sees => {
            let told = many.text_summary.clone().unwrap_or_else(|| many.text());
            let told = Some(told).filter(|told| !told.trim().is_empty());
            Content::Text(told.unwrap_or_else(|| UNSEEN.to_owned()))
        }
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

#[cfg(test)]
mod tests {
    use petasos_contract::output::Multimodal;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_that_reads_only_text_gets_the_summary_of_a_picture() {
        let picture =
            json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA" } });
        let shown = |summary: Option<&str>, content: Vec<Value>| {
            let text_summary = summary.map(str::to_owned);
            Shown::Multimodal(Multimodal { content, text_summary })
        };
        let words = json!({ "type": "text", "text": "a hat" });
        let whole = shown(Some("a red hat"), vec![words.clone(), picture.clone()]);
        assert!(matches!(content(&whole, true), Content::Parts(parts) if parts.len() == 2));
        assert_eq!(content(&whole, false), Content::Text("a red hat".to_owned()));
        let unsummed = shown(None, vec![words, picture.clone()]);
        assert_eq!(content(&unsummed, false), Content::Text("a hat".to_owned()));
        let bare = shown(None, vec![picture]);
        assert_eq!(content(&bare, false), Content::Text(UNSEEN.to_owned()));
    }
}
