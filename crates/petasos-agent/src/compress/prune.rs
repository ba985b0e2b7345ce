//! Tool bulk first: old results become a line, repeated ones a reference, long arguments short.
//! Pure; the caller swaps the rows.

use std::collections::BTreeMap;

use petasos_contract::ToolName;
use petasos_contract::message::{Assistant, Content, Message, RequestedCall, ToolMessage};
use petasos_store::{LoadedRow, Stored, Swap};
use serde_json::{Map, Value};

use super::noted;

const RESULT_CHARS_KEPT: usize = 200;
const ARGUMENT_CHARS_KEPT: usize = 500;
const ARGUMENT_PREVIEW: usize = 120;

/// What to put in the place of rows before the protected end.
pub(super) fn swaps(rows: &[LoadedRow], tail: usize) -> Vec<Swap> {
    let newest = newest_results(rows);
    let old = rows.iter().take(tail);
    let swap = |row: &LoadedRow| {
        let message = match &row.stored.message {
            Message::Tool(result) => shorter_result(result, row.seq, &newest)?,
            Message::Assistant(said) => shorter_calls(said)?,
            Message::User { .. } => return None,
        };
        let shown = Stored { message, sent: None, ..row.stored.clone() };
        Some(Swap { hidden: vec![row.seq], shown: Some(noted(shown, "pruned")) })
    };
    old.filter_map(swap).collect()
}

/// The rows as they would be, each with the place of the one it stands for.
pub(super) fn applied(rows: &[LoadedRow], swaps: &[Swap]) -> Vec<LoadedRow> {
    let mut rows = rows.to_vec();
    for row in &mut rows {
        let swap = swaps.iter().find(|swap| swap.hidden.contains(&row.seq));
        if let Some(shown) = swap.and_then(|swap| swap.shown.clone()) {
            row.stored = shown;
            let tokens = crate::tokens::of_message(&row.stored.message);
            row.stored.tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        }
    }
    rows
}

/// The last row of each text that several results have.
fn newest_results(rows: &[LoadedRow]) -> BTreeMap<String, i64> {
    let mut newest = BTreeMap::new();
    for row in rows {
        if let Message::Tool(ToolMessage { content: Content::Text(text), .. }) = &row.stored.message
            && text.len() > RESULT_CHARS_KEPT
        {
            newest.insert(text.clone(), row.seq);
        }
    }
    newest
}

fn shorter_result(
    result: &ToolMessage,
    seq: i64,
    newest: &BTreeMap<String, i64>,
) -> Option<Message> {
    let text = result.content.text();
    let images = matches!(&result.content, Content::Parts(_));
    if text.chars().count() <= RESULT_CHARS_KEPT && !images {
        return None;
    }
    let name = result.name.as_ref().map_or("tool", ToolName::as_str);
    let line = if newest.get(&text).is_some_and(|last| *last != seq) {
        format!("[{name}: the same result came again later]")
    } else {
        let first: String = text.chars().take(80).collect();
        let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
        let (lines, chars) = (text.lines().count(), text.chars().count());
        format!("[{name}: {lines} lines, {chars} characters, shortened; it began: {first}]")
    };
    Some(Message::Tool(ToolMessage { content: Content::Text(line), ..result.clone() }))
}

/// Arguments stay valid JSON: long texts inside are cut, nothing else.
fn shorter_calls(said: &Assistant) -> Option<Message> {
    let long = |call: &RequestedCall| call.arguments.chars().count() > ARGUMENT_CHARS_KEPT;
    if !said.tool_calls.iter().any(long) {
        return None;
    }
    let mut said = said.clone();
    for call in said.tool_calls.iter_mut().filter(|call| long(call)) {
        let Ok(mut value) = serde_json::from_str::<Value>(&call.arguments) else { continue };
        shrink(&mut value);
        let mut text = value.to_string();
        if text.chars().count() > ARGUMENT_CHARS_KEPT * 2 {
            text =
                Value::Object(Map::from_iter([("shortened".to_owned(), true.into())])).to_string();
        }
        call.arguments = text;
    }
    // What the provider signed was the long form.
    said.replay = None;
    Some(Message::Assistant(said))
}

fn shrink(value: &mut Value) {
    match value {
        Value::String(text) => {
            let count = text.chars().count();
            if count > ARGUMENT_PREVIEW {
                let head: String = text.chars().take(ARGUMENT_PREVIEW).collect();
                *text = format!("{head}… [{count} characters]");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shrink),
        Value::Object(fields) => fields.values_mut().for_each(shrink),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
