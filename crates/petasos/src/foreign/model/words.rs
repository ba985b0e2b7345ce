//! What an agent must be told of a conversation: what is new, and what it did not hear itself.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use petasos_contract::message::{Content, Message, Part};

/// What an agent has heard of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// So many messages.
    count: usize,
    /// What they were: roles, and what was answered.
    mark: u64,
}

impl Told {
    /// Of all of these.
    pub(super) fn of(messages: &[Message]) -> Self {
        Self { count: messages.len(), mark: mark(messages) }
    }

    /// Whether the conversation still begins with what was heard.
    pub(super) fn covers(&self, messages: &[Message]) -> bool {
        let before = messages.get(..self.count);
        self.count == 0 || before.is_some_and(|before| mark(before) == self.mark)
    }

    /// What is to be said now, and the pictures of it: the last words of the user, and before them
    /// whatever the agent has not heard. Its own answer to the words before comes back first; it
    /// knows that.
    pub(super) fn rest(&self, messages: &[Message]) -> (String, Vec<String>) {
        let new = messages.get(self.count..).unwrap_or_default();
        let new = match new {
            [Message::Assistant(_), rest @ ..] if self.count > 0 => rest,
            all => all,
        };
        let last = new.iter().rposition(|message| matches!(message, Message::User { .. }));
        let (before, now) = new.split_at(last.unwrap_or(new.len()));
        let mut text = String::new();
        if !before.is_empty() {
            text.push_str("What was said in this conversation before you joined it:\n\n");
            for message in before {
                text.push_str(&line(message));
            }
            text.push_str("---\n\n");
        }
        let mut pictures = Vec::new();
        for message in now {
            text.push_str(&said(message));
            if let Message::User { content: Content::Parts(parts) } = message {
                pictures.extend(parts.iter().filter_map(|part| match part {
                    Part::ImageUrl { image_url } => Some(image_url.url.clone()),
                    Part::Text { .. } => None,
                }));
            }
        }
        (text, pictures)
    }
}

fn line(message: &Message) -> String {
    let who = match message {
        Message::User { .. } => "User",
        Message::Assistant(_) => "Assistant",
        Message::Tool(_) => "Result of a tool",
    };
    format!("{who}: {}\n\n", said(message).trim())
}

fn said(message: &Message) -> String {
    match message {
        Message::User { content } => content.text(),
        Message::Tool(result) => result.content.text(),
        Message::Assistant(said) => {
            let calls = said.tool_calls.iter();
            let calls = calls.map(|call| format!("\n[called {} {}]", call.name, call.arguments));
            calls.fold(said.text().to_owned(), |text, call| text + &call)
        }
    }
}

/// Words of the user are left out: what a turn puts before them is not there the next time.
fn mark(messages: &[Message]) -> u64 {
    let mut hash = DefaultHasher::new();
    for message in messages {
        match message {
            Message::User { .. } => 0_u8.hash(&mut hash),
            Message::Assistant(said) => (1_u8, said.text()).hash(&mut hash),
            Message::Tool(result) => (2_u8, result.tool_call_id.as_str()).hash(&mut hash),
        }
    }
    hash.finish()
}

#[cfg(test)]
mod tests {
    use petasos_contract::message::Assistant;

    use super::*;

    fn user(text: &str) -> Message {
        Message::User { content: text.into() }
    }

    fn agent(text: &str) -> Message {
        Message::Assistant(Assistant { content: Some(text.to_owned()), ..Assistant::default() })
    }

    #[test]
    fn an_agent_is_told_what_it_has_not_heard() {
        let mut messages = vec![user("one")];
        let told = Told::default();
        assert!(told.covers(&messages));
        assert_eq!(told.rest(&messages).0, "one");
        let told = Told::of(&messages);
        messages.extend([agent("first"), user("two")]);
        assert!(told.covers(&messages));
        assert_eq!(told.rest(&messages).0, "two");
        let fresh = Told::default().rest(&messages).0;
        assert!(fresh.contains("User: one") && fresh.contains("Assistant: first"), "{fresh}");
        assert!(fresh.ends_with("---\n\ntwo"), "{fresh}");
        let later = Told::of(&messages);
        assert!(!later.covers(&[user("one"), agent("another"), user("two")]));
        assert!(!later.covers(&messages[..1]));
    }
}
