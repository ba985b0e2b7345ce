//! What providers insist on, as one strict check each; for tests and `sessions verify`.

use std::collections::BTreeSet;

use petasos_contract::CallId;
use petasos_contract::message::Message;
use serde_json::Value;

/// Whose rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Chat completions, by the strictest servers.
    Chat,
    /// Anthropic's messages, Bedrock's too.
    Messages,
    /// OpenAI's responses.
    Responses,
    /// Gemini.
    Gemini,
}

/// All of them.
pub const ALL: &[Rules] = &[Rules::Chat, Rules::Messages, Rules::Responses, Rules::Gemini];

/// Whether a provider would take the conversation; otherwise what it would refuse.
pub fn validate(messages: &[Message], rules: Rules) -> Result<(), String> {
    calls_are_answered(messages)?;
    match rules {
        Rules::Responses => Ok(()),
        Rules::Chat => alternates(messages),
        Rules::Messages => {
            begins_with_user(messages)?;
            alternates(messages)?;
            no_blank_text(messages)
        }
        Rules::Gemini => {
            begins_with_user(messages)?;
            alternates(messages)?;
            arguments_are_objects(messages)
        }
    }
}

/// Directly behind a reply with calls stand its results: each call once, and nothing else.
fn calls_are_answered(messages: &[Message]) -> Result<(), String> {
    let mut open: BTreeSet<CallId> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        match message {
            Message::Tool(result) => {
                if !open.remove(&result.tool_call_id) {
                    return Err(format!("message {at}: result without call"));
                }
            }
            Message::User { .. } | Message::Assistant(_) if !open.is_empty() => {
                return Err(format!("message {at}: calls {open:?} have no result"));
            }
            Message::User { .. } => {}
            Message::Assistant(said) => {
                for call in &said.tool_calls {
                    if call.id.as_str().is_empty() || !open.insert(call.id.clone()) {
                        return Err(format!("message {at}: call id `{}` is not unique", call.id));
                    }
                }
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("calls {open:?} have no result")) }
}

/// Results count as the user's side; a user may speak right behind them.
fn alternates(messages: &[Message]) -> Result<(), String> {
    for (at, pair) in messages.windows(2).enumerate() {
        let clash = match (&pair[0], &pair[1]) {
            (Message::User { .. }, Message::User { .. } | Message::Tool(_)) => true,
            (Message::Assistant(first), Message::Assistant(_)) => first.tool_calls.is_empty(),
            _ => false,
        };
        if clash {
            return Err(format!("messages {at} and {} do not alternate", at + 1));
        }
    }
    Ok(())
}

fn begins_with_user(messages: &[Message]) -> Result<(), String> {
    match messages.first() {
        Some(Message::User { .. }) => Ok(()),
        _ => Err("the first message is not the user's".to_owned()),
    }
}

fn no_blank_text(messages: &[Message]) -> Result<(), String> {
    let blank = |message: &Message| match message {
        Message::User { content } => content.is_blank(),
        Message::Assistant(said) => said.is_silent() && said.replay.is_none(),
        Message::Tool(_) => false,
    };
    match messages.iter().position(blank) {
        Some(at) => Err(format!("message {at} is blank")),
        None => Ok(()),
    }
}

fn arguments_are_objects(messages: &[Message]) -> Result<(), String> {
    for message in messages {
        let Message::Assistant(said) = message else { continue };
        for call in &said.tool_calls {
            if !serde_json::from_str::<Value>(&call.arguments).is_ok_and(|value| value.is_object())
            {
                return Err(format!("the arguments of `{}` are no object", call.id));
            }
        }
    }
    Ok(())
}
