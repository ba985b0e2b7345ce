//! How large a question is, before anybody counts its tokens.

use petasos_contract::message::{Content, Message, Part};
use petasos_contract::model::Prompt;

use crate::failure::Size;

/// A rough size: a token for every four characters, and a fixed price for an image.
pub(super) fn size(prompt: &Prompt) -> Size {
    const IMAGE: usize = 6_000;
    let content = |content: &Content| match content {
        Content::Text(text) => text.len(),
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text { text } => text.len(),
                Part::ImageUrl { .. } => IMAGE,
            })
            .sum(),
    };
    let messages = prompt.messages.iter().map(|message| match message {
        Message::User { content: said } => content(said),
        Message::Tool(result) => content(&result.content),
        Message::Assistant(said) => {
            let calls = said.tool_calls.iter().map(|call| call.arguments.len() + 40);
            said.text().len() + calls.sum::<usize>()
        }
    });
    let tools = prompt.tools.iter().map(|tool| tool.description.len() + 200);
    let characters = prompt.system.len() + messages.sum::<usize>() + tools.sum::<usize>();
    let tokens = u64::try_from(characters.div_ceil(4)).unwrap_or(u64::MAX);
    Size { tokens, messages: prompt.messages.len(), context: None }
}
