//! The outgoing copy of a conversation: roles alternate and every call has exactly one result,
//! whatever the stored one looks like. The stored one is not touched.

use std::collections::BTreeSet;

use petasos_contract::message::{Assistant, Content, Message, Part, RequestedCall, ToolMessage};
use petasos_contract::{CallId, ToolName};
use petasos_store::Stored;
use serde_json::Value;

/// What a call without a result is answered with.
const NO_RESULT: &str = "[Result unavailable]";
/// What a conversation that begins with a reply begins with.
const BEGINNING: &str = "[The beginning of this conversation is not shown]";

/// The messages as a model may be asked.
pub fn outgoing<'a>(rows: impl IntoIterator<Item = &'a Stored>) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    let mut open: Vec<Asked> = Vec::new();
    for row in rows {
        match sent(row) {
            Message::Tool(result) => {
                let mut asked = open.iter_mut();
                let asked = asked.find(|asked| asked.call == result.tool_call_id);
                if let Some(asked) = asked.filter(|asked| asked.result.is_none()) {
                    asked.result = Some(result);
                }
            }
            Message::User { content } => {
                answer(&mut open, &mut out);
                push_user(&mut out, content);
            }
            Message::Assistant(said) => {
                answer(&mut open, &mut out);
                if said.is_silent() && said.replay.is_none() {
                    continue;
                }
                let said = tidy(said);
                open = said.tool_calls.iter().map(Asked::of).collect();
                push_assistant(&mut out, said);
            }
        }
    }
    answer(&mut open, &mut out);
    out
}

/// A call and its result, in the order of the calls, whichever result came first.
struct Asked {
    call: CallId,
    name: ToolName,
    result: Option<ToolMessage>,
}

impl Asked {
    fn of(call: &RequestedCall) -> Self {
        Self { call: call.id.clone(), name: call.name.clone(), result: None }
    }
}

/// What was really sent for a row, where that is known.
fn sent(row: &Stored) -> Message {
    match (&row.message, &row.sent) {
        (Message::User { content: Content::Text(_) }, Some(sent)) => Message::user(sent.as_str()),
        (Message::Assistant(said), Some(sent)) => {
            Message::Assistant(Assistant { content: Some(sent.clone()), ..said.clone() })
        }
        (message, _) => message.clone(),
    }
}

/// Calls that nobody answered get a stub.
fn answer(open: &mut Vec<Asked>, out: &mut Vec<Message>) {
    for Asked { call, name, result } in open.drain(..) {
        let stub = || {
            let content = Content::Text(NO_RESULT.to_owned());
            ToolMessage { tool_call_id: call, name: Some(name), content }
        };
        out.push(Message::Tool(result.unwrap_or_else(stub)));
    }
}

fn push_user(out: &mut Vec<Message>, content: Content) {
    if let Some(Message::User { content: last }) = out.last_mut() {
        *last = joined(std::mem::replace(last, Content::Text(String::new())), content);
        return;
    }
    out.push(Message::User { content });
}

fn joined(first: Content, second: Content) -> Content {
    match (first, second) {
        (Content::Text(first), Content::Text(second)) => {
            Content::Text(format!("{first}\n\n{second}"))
        }
        (first, second) => {
            let parts = |content: Content| match content {
                Content::Text(text) => vec![Part::text(text)],
                Content::Parts(parts) => parts,
            };
            let mut all = parts(first);
            all.extend(parts(second));
            Content::Parts(all)
        }
    }
}

fn push_assistant(out: &mut Vec<Message>, said: Assistant) {
    if out.is_empty() {
        out.push(Message::user(BEGINNING));
    }
    if let Some(Message::Assistant(last)) = out.last_mut()
        && last.tool_calls.is_empty()
    {
        let texts = [last.text(), said.text()].into_iter().filter(|text| !text.is_empty());
        let text = texts.collect::<Vec<_>>().join("\n\n");
        last.content = (!text.is_empty()).then_some(text);
        last.tool_calls = said.tool_calls;
        match (&mut last.replay, said.replay) {
            (Some(ours), Some(theirs)) if ours.issuer == theirs.issuer => {
                ours.blocks.extend(theirs.blocks);
            }
            (ours, theirs) => *ours = theirs,
        }
        return;
    }
    out.push(Message::Assistant(said));
}

/// Arguments are objects and no identity comes twice.
fn tidy(mut said: Assistant) -> Assistant {
    let mut seen = BTreeSet::new();
    said.tool_calls.retain(|call| seen.insert(call.id.clone()));
    for call in &mut said.tool_calls {
        let parsed = serde_json::from_str::<Value>(&call.arguments);
        if !parsed.is_ok_and(|value| value.is_object()) {
            "{}".clone_into(&mut call.arguments);
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::{ALL, validate};

    fn calling(ids: &[&str]) -> Message {
        let call = |id: &&str| RequestedCall {
            id: (*id).into(),
            name: "x".into(),
            arguments: "not json".to_owned(),
            provider_data: None,
        };
        let tool_calls = ids.iter().map(call).collect();
        Message::Assistant(Assistant { tool_calls, ..Assistant::default() })
    }

    #[test]
    fn whatever_is_stored_the_copy_is_valid() {
        let pieces = [
            Message::user("u"),
            Message::assistant("a"),
            Message::assistant(""),
            calling(&["1", "2"]),
            calling(&["1", "1"]),
            Message::tool("1", "r"),
            Message::tool("2", "r"),
            Message::tool("9", "stray"),
        ];
        let mut seed = 7_u64;
        for _ in 0..5000 {
            let mut rows = vec![Message::user("begin")];
            for _ in 0..8 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = usize::try_from(seed >> 33).unwrap() % pieces.len();
                rows.push(pieces[at].clone());
            }
            let rows: Vec<Stored> = rows.into_iter().map(Stored::new).collect();
            let copy = outgoing(&rows);
            for rules in ALL {
                validate(&copy, *rules).unwrap_or_else(|e| panic!("{rules:?}: {e}: {rows:?}"));
            }
        }
    }
}
