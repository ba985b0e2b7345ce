//! A conversation as text for elsewhere: JSON lines for programs, Markdown for people.
//!
//! Every text passes the caller's mask: an export leaves the house, and the log holds secrets.

use std::fmt::Write as _;

use petasos_contract::message::{Content, Message};
use petasos_store::{LoadedRow, SessionHead};
use serde_json::Value;

use crate::stamp::utc;

/// The shape of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line: the head first, then each message, hidden ones flagged.
    Jsonl,
    /// Headings, text and code blocks; only what is replayed.
    Markdown,
}

/// Writes a conversation.
pub(crate) fn render(
    head: &SessionHead,
    rows: &[LoadedRow],
    format: Format,
    mask: &dyn Fn(&str) -> String,
) -> String {
    match format {
        Format::Jsonl => jsonl(head, rows, mask),
        Format::Markdown => markdown(head, rows, mask),
    }
}

fn jsonl(head: &SessionHead, rows: &[LoadedRow], mask: &dyn Fn(&str) -> String) -> String {
    let mut first = serde_json::to_value(head).unwrap_or(Value::Null);
    if let Value::Object(object) = &mut first {
        object.insert("type".to_owned(), "session".into());
        object.insert("v".to_owned(), 1.into());
    }
    let mut text = mask(&first.to_string()) + "\n";
    for row in rows {
        let mut value = serde_json::to_value(&row.stored.message).unwrap_or(Value::Null);
        masked(&mut value, mask);
        if let Value::Object(object) = &mut value {
            object.insert("type".to_owned(), "message".into());
            object.insert("id".to_owned(), row.seq.into());
            object.insert("at_ms".to_owned(), row.at_ms.into());
            object.insert("active".to_owned(), row.active.into());
            if let Some(note) = &row.stored.note {
                object.insert("note".to_owned(), note.as_str().into());
            }
        }
        text.push_str(&value.to_string());
        text.push('\n');
    }
    text
}

/// Masks every text inside, so that the shape stays valid JSON.
fn masked(value: &mut Value, mask: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = mask(text),
        Value::Array(items) => items.iter_mut().for_each(|item| masked(item, mask)),
        Value::Object(fields) => fields.values_mut().for_each(|field| masked(field, mask)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn markdown(head: &SessionHead, rows: &[LoadedRow], mask: &dyn Fn(&str) -> String) -> String {
    let title = head.title.as_deref().unwrap_or(&head.id);
    let (date, time) = utc(head.started_ms);
    let mut text = format!("# {}\n\n", mask(title));
    let model = head.model.as_deref().unwrap_or("unknown model");
    line(&mut text, &format!("{} · {date} {time} UTC · {model}", head.id));
    for row in rows.iter().filter(|row| row.active) {
        match &row.stored.message {
            Message::User { content } => {
                let who = if row.stored.note.is_some() { "Note" } else { "User" };
                section(&mut text, who, &mask(&shown(content)));
            }
            Message::Assistant(said) => {
                section(&mut text, "Assistant", &mask(said.text()));
                for call in &said.tool_calls {
                    fenced(&mut text, &format!("`{}`", call.name), &mask(&call.arguments));
                }
            }
            Message::Tool(result) => {
                let name = result.name.as_ref().map_or("tool", |name| name.as_str());
                fenced(&mut text, &format!("Result of `{name}`"), &mask(&shown(&result.content)));
            }
        }
    }
    text
}

fn shown(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => {
            let images = parts.len() - parts.iter().filter(|part| is_text(part)).count();
            let text = content.text();
            if images == 0 { text } else { format!("{text}\n\n[{images} image(s)]") }
        }
    }
}

fn is_text(part: &petasos_contract::message::Part) -> bool {
    matches!(part, petasos_contract::message::Part::Text { .. })
}

fn section(text: &mut String, heading: &str, body: &str) {
    line(text, &format!("\n## {heading}\n"));
    if !body.trim().is_empty() {
        line(text, body.trim_end());
    }
}

/// A block whose fence is longer than any inside.
fn fenced(text: &mut String, heading: &str, body: &str) {
    let longest = body.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    line(text, &format!("\n{heading}\n\n{fence}\n{}\n{fence}", body.trim_end()));
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{line}").unwrap_or_default();
}
