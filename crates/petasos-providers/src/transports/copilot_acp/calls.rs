//! Tools for a model that only writes text: how it is taught to call them, and how a call is found
//! in what it writes.
//!
//! A mark that never closes, or whose inside is no call, is text: nothing runs from a guess.

use petasos_contract::model::Definition;
use serde_json::{Map, Value, json};

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// What the model is told of the tools; nothing when there are none.
pub(super) fn taught(tools: &[&Definition]) -> String {
    if tools.is_empty() {
        return String::new();
    }
    let list: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({ "name": tool.name, "description": tool.description,
                "parameters": tool.parameters })
        })
        .collect();
    format!(
        "You act only through the tools below; what you try by other means is refused. To call \
         one, write {OPEN}{{\"name\": …, \"arguments\": {{…}}}}{CLOSE}, one mark for each call, \
         at the end of your answer, and stop there: the results follow in the next message.\n\n\
         Tools:\n{}",
        Value::Array(list)
    )
}

/// What a piece of text turned out to be.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Call { name: String, arguments: String },
}

/// Finds calls in text that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct Finder {
    held: String,
}

impl Finder {
    /// Takes a piece; what may still become a mark is held back.
    pub(super) fn push(&mut self, text: &str) -> Vec<Piece> {
        self.held.push_str(text);
        let mut pieces = Vec::new();
        loop {
            let Some((before, inside)) = self.held.split_once(OPEN) else {
                let keep = beginning_of(OPEN, &self.held);
                let tail = self.held.split_off(self.held.len() - keep);
                say(&mut pieces, std::mem::replace(&mut self.held, tail));
                return pieces;
            };
            let Some((inside, after)) = inside.split_once(CLOSE) else {
                let mark = self.held.split_off(before.len());
                say(&mut pieces, std::mem::replace(&mut self.held, mark));
                return pieces;
            };
            say(&mut pieces, before.to_owned());
            match parsed(inside) {
                Some(call) => pieces.push(call),
                None => say(&mut pieces, format!("{OPEN}{inside}{CLOSE}")),
            }
            self.held = after.to_owned();
        }
    }

    /// What was held back, at the end.
    pub(super) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

fn say(pieces: &mut Vec<Piece>, text: String) {
    match pieces.last_mut() {
        Some(Piece::Text(said)) => said.push_str(&text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Text(text)),
    }
}

/// How much of the end of `text` could be the beginning of `mark`.
fn beginning_of(mark: &str, text: &str) -> usize {
    let lengths = (1..mark.len()).rev();
    let fits = |length: &usize| mark.get(..*length).is_some_and(|head| text.ends_with(head));
    lengths.into_iter().find(fits).unwrap_or(0)
}

fn parsed(inside: &str) -> Option<Piece> {
    let mut call: Map<String, Value> = serde_json::from_str(inside.trim()).ok()?;
    let name = call.get("name")?.as_str()?.to_owned();
    let arguments = match call.remove("arguments").unwrap_or_else(|| json!({})) {
        Value::String(text) => {
            serde_json::from_str::<Map<String, Value>>(&text).ok()?;
            text
        }
        arguments @ Value::Object(_) => arguments.to_string(),
        _ => return None,
    };
    Some(Piece::Call { name, arguments })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pieces: &[&str]) -> Vec<Piece> {
        let mut finder = Finder::default();
        let mut all = Vec::new();
        for piece in pieces.iter().flat_map(|piece| finder.push(piece)).collect::<Vec<_>>() {
            match piece {
                Piece::Text(text) => say(&mut all, text),
                call @ Piece::Call { .. } => all.push(call),
            }
        }
        say(&mut all, finder.rest());
        all
    }

    #[test]
    fn calls_are_found_whatever_the_cuts_and_the_rest_stays_text() {
        let text = "Looking.<tool_call>{\"name\": \"a\", \"arguments\": {\"x\": 1}}</tool_call>\
            <tool_call>{\"name\":\"b\"}</tool_call> 1 < 2 <tool_call>nonsense</tool_call> \
            <tool_call>{\"name\": \"cut";
        let call = |name: &str, arguments: &str| Piece::Call {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        let expected = vec![
            Piece::Text("Looking.".to_owned()),
            call("a", "{\"x\":1}"),
            call("b", "{}"),
            Piece::Text(
                " 1 < 2 <tool_call>nonsense</tool_call> <tool_call>{\"name\": \"cut".to_owned(),
            ),
        ];
        assert_eq!(found(&[text]), expected);
        let characters: Vec<String> = text.chars().map(String::from).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        assert_eq!(found(&characters), expected);
    }
}
