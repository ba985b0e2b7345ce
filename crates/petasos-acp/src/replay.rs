//! A stored conversation as the updates that would have shown it.

use agent_client_protocol_schema::v1::SessionUpdate;
use petasos_contract::call::Status;
use petasos_contract::message::{Content, Message, Part};
use serde_json::Value;

use crate::render::Renderer;

/// Everything that was said, in order; calls with their final state.
pub(crate) fn replayed(renderer: &mut Renderer, messages: &[Message]) -> Vec<SessionUpdate> {
    let mut updates = Vec::new();
    for message in messages {
        match message {
            Message::User { content } => {
                let text = shown(content);
                if !text.trim().is_empty() {
                    updates.push(renderer.user(&text));
                }
            }
            Message::Assistant(said) => {
                if let Some(thought) = said.reasoning.as_deref().filter(|it| !it.is_empty()) {
                    updates.push(renderer.thought(thought));
                }
                if !said.text().trim().is_empty() {
                    updates.push(renderer.agent(said.text()));
                }
                for call in &said.tool_calls {
                    let name = call.name.as_str();
                    updates.push(renderer.requested(&call.id, name, &call.arguments, ""));
                }
            }
            Message::Tool(result) => {
                let text = result.content.text();
                let failed = serde_json::from_str::<Value>(&text)
                    .is_ok_and(|value| value.get("error").is_some_and(|error| !error.is_null()));
                let status = if failed { Status::Error } else { Status::Ok };
                updates.extend(renderer.answered(&result.tool_call_id, status, &text));
            }
        }
    }
    // A call that a dead process left without a result is told as failed.
    updates.extend(renderer.close());
    updates
}

fn shown(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => {
            let part = |part: &Part| match part {
                Part::Text { text } => text.clone(),
                Part::ImageUrl { .. } => "[image]".to_owned(),
            };
            parts.iter().map(part).collect::<Vec<_>>().join("\n")
        }
    }
}
