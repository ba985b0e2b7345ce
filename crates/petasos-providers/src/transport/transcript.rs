//! A whole conversation as one text, for those who take only one: programs that hold sessions of
//! their own, and advisers who are asked for an opinion.

use petasos_contract::message::{Content, Message, Part};
use petasos_contract::model::Prompt;

use super::history::clean;

/// Where an image stands in the conversation.
const IMAGE: &str = "[image]";

/// The conversation as a text. A lone question without instructions stays as it is.
pub fn of(prompt: &Prompt, instructions: &str) -> String {
    if let ([Message::User { content }], true) = (&*prompt.messages, instructions.is_empty()) {
        return clean(&shown(content));
    }
    let mut text = String::new();
    if !instructions.is_empty() {
        text.push_str(instructions);
        text.push_str("\n\n");
    }
    text.push_str("The conversation so far:");
    for message in &prompt.messages {
        match message {
            Message::User { content } => section(&mut text, "user", &shown(content)),
            Message::Assistant(said) => {
                if !said.text().trim().is_empty() {
                    section(&mut text, "assistant", said.text());
                }
                for call in &said.tool_calls {
                    let title = format!("assistant calls {} as {}", call.name, call.id);
                    section(&mut text, &title, &call.arguments);
                }
            }
            Message::Tool(result) => {
                let title = format!("result of {}", result.tool_call_id);
                section(&mut text, &title, &shown(&result.content));
            }
        }
    }
    text.push_str("\n\nGo on from here as the assistant.");
    clean(&text)
}

/// The images of the last message, which alone are sent along.
pub fn images(prompt: &Prompt) -> Vec<&petasos_contract::message::ImageUrl> {
    let Some(Message::User { content: Content::Parts(parts) }) = prompt.messages.last() else {
        return Vec::new();
    };
    let images = parts.iter().filter_map(|part| match part {
        Part::ImageUrl { image_url } => Some(image_url),
        Part::Text { .. } => None,
    });
    images.collect()
}

fn section(text: &mut String, title: &str, body: &str) {
    text.push_str("\n\n[");
    text.push_str(title);
    text.push_str("]\n");
    text.push_str(body);
}

fn shown(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => {
            let each = parts.iter().map(|part| match part {
                Part::Text { text } => text.as_str(),
                Part::ImageUrl { .. } => IMAGE,
            });
            each.collect::<Vec<_>>().join("\n")
        }
    }
}
