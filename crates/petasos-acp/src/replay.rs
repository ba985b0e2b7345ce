//! A stored conversation as the updates that would have shown it.

use agent_client_protocol_schema::v1::{ContentBlock, ImageContent, SessionUpdate, TextContent};
use petasos_contract::call::Status;
use petasos_contract::message::{Content, Message, Part};
use serde_json::Value;

use crate::content;
use crate::render::Renderer;

/// Everything that was said, in order; calls with their final state. Those that still run, in this
/// program or another, stay open.
pub(crate) fn replayed<'a>(
    renderer: &mut Renderer,
    messages: impl IntoIterator<Item = &'a Message>,
    is_worked_on: bool,
) -> Vec<SessionUpdate> {
    renderer.forget();
    let mut updates = Vec::new();
    for message in messages {
        updates.extend(said(renderer, message));
    }
    if !is_worked_on {
        // A call that a dead process left without a result is told as failed.
        updates.extend(renderer.close());
    }
    updates
}

/// One message; calls that it asks for stay open until their results come.
pub(crate) fn said(renderer: &mut Renderer, message: &Message) -> Vec<SessionUpdate> {
    let mut updates = Vec::new();
    match message {
        Message::User { content } => {
            let blocks = shown(content);
            let blank = |block: &ContentBlock| matches!(block, ContentBlock::Text(text) if text.text.trim().is_empty());
            if !blocks.iter().all(blank) {
                updates.extend(renderer.user_blocks(blocks));
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
            let is_command = renderer.tool(&result.tool_call_id) == Some("terminal");
            let status = if has_failed(&text, is_command) { Status::Error } else { Status::Ok };
            updates.extend(renderer.answered(&result.tool_call_id, status, &text));
        }
    }
    updates
}

/// Whether a stored result tells of a failure: an error, or in brackets that the call was stopped,
/// not run, or lost with its program. A command tells it by its exit code.
fn has_failed(result: &str, is_command: bool) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(result) else {
        return result.trim().starts_with('[') && result.trim().ends_with(']');
    };
    let code = value.get("exit_code").and_then(Value::as_i64).filter(|_| is_command);
    let error = || value.get("error").is_some_and(|error| !error.is_null());
    code.map_or_else(error, |code| code != 0)
}

fn shown(content: &Content) -> Vec<ContentBlock> {
    let text = |text: &str| ContentBlock::Text(TextContent::new(text));
    match content {
        Content::Text(words) => content::sent(words),
        Content::Parts(parts) => {
            let part = |part: &Part| match part {
                Part::Text { text: words } => content::sent(words),
                Part::ImageUrl { image_url } => {
                    vec![picture(&image_url.url).unwrap_or_else(|| text("[image]"))]
                }
            };
            parts.iter().flat_map(part).collect()
        }
    }
}

/// A picture that is written out in its address.
fn picture(url: &str) -> Option<ContentBlock> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(ContentBlock::Image(ImageContent::new(data, kind)))
}
