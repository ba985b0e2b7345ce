//! About how many tokens something takes: a quarter of its characters, and a flat sum per image.

use petasos_contract::message::{Content, Message, Part};
use petasos_contract::model::Definition;

/// What an image is taken to cost.
const IMAGE: u64 = 1500;

/// Of a text.
pub fn of_text(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(4)
}

/// Of a message.
pub fn of_message(message: &Message) -> u64 {
    match message {
        Message::User { content } => of_content(content),
        Message::Tool(result) => of_content(&result.content),
        Message::Assistant(said) => {
            let calls = said.tool_calls.iter();
            let calls: u64 = calls.map(|call| of_text(&call.arguments) + 10).sum();
            of_text(said.text()) + said.reasoning.as_deref().map_or(0, of_text) + calls
        }
    }
}

fn of_content(content: &Content) -> u64 {
    match content {
        Content::Text(text) => of_text(text),
        Content::Parts(parts) => {
            let each = parts.iter().map(|part| match part {
                Part::Text { text } => of_text(text),
                Part::ImageUrl { .. } => IMAGE,
            });
            each.sum()
        }
    }
}

/// Of the tools that are offered.
pub fn of_tools(tools: &[Definition]) -> u64 {
    let chars = tools.iter().map(|tool| tool.description.len() + tool.parameters.to_string().len());
    (chars.sum::<usize>() as u64).div_ceil(4)
}
