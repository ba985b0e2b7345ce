//! The items of a response, and the events that tell how each comes to be. The official helpers
//! want every item and every part announced before its first piece.

use serde_json::{Value, json};

use crate::answer::named;
use crate::run::{RunEvent, Spent};

/// A response so far.
pub(super) struct Items {
    /// What does not change.
    about: Value,
    status: &'static str,
    output: Vec<Value>,
    /// The text of the message that is being said; it is the last item.
    saying: Option<String>,
    usage: Option<Spent>,
    error: Value,
    incomplete: Value,
    number: u64,
}

impl Items {
    pub(super) fn new(about: Value) -> Self {
        Self {
            about,
            status: "in_progress",
            output: Vec::new(),
            saying: None,
            usage: None,
            error: Value::Null,
            incomplete: Value::Null,
            number: 0,
        }
    }

    /// The response as it is.
    pub(super) fn response(&self) -> Value {
        let mut response = self.about.clone();
        response["status"] = json!(self.status);
        response["output"] = json!(self.output);
        response["error"] = self.error.clone();
        response["incomplete_details"] = self.incomplete.clone();
        response["usage"] = self.usage.map_or(Value::Null, |used| {
            json!({
                "input_tokens": used.input_tokens,
                "input_tokens_details": { "cached_tokens": used.cached_tokens },
                "output_tokens": used.output_tokens,
                "output_tokens_details": { "reasoning_tokens": used.reasoning_tokens },
                "total_tokens": used.total_tokens,
            })
        });
        response
    }

    fn frame(&mut self, kind: &str, mut value: Value) -> String {
        value["type"] = json!(kind);
        value["sequence_number"] = json!(self.number);
        self.number += 1;
        named(kind, &value)
    }

    pub(super) fn open(&mut self) -> String {
        let response = json!({ "response": self.response() });
        let created = self.frame("response.created", response.clone());
        created + &self.frame("response.in_progress", response)
    }

    /// Takes one event; gives the frames that tell it.
    pub(super) fn event(&mut self, event: &RunEvent) -> String {
        match event {
            RunEvent::Text { delta } => self.say(delta),
            RunEvent::ToolStarted { tool_call_id, tool, arguments, .. } => {
                self.call(tool_call_id, tool, arguments)
            }
            RunEvent::ToolCompleted { tool_call_id, output, .. } => {
                let item = json!({
                    "id": format!("fco_{}_{tool_call_id}", self.output.len()),
                    "type": "function_call_output",
                    "call_id": tool_call_id, "output": output, "status": "completed",
                });
                self.whole(&item)
            }
            RunEvent::Completed { usage, finish_reason, .. } => {
                let mut frames = self.said();
                self.usage = Some(*usage);
                let kind = if finish_reason == "stop" {
                    self.status = "completed";
                    "response.completed"
                } else {
                    self.status = "incomplete";
                    let reason = match finish_reason.as_str() {
                        "length" => "max_output_tokens",
                        other => other,
                    };
                    self.incomplete = json!({ "reason": reason });
                    "response.incomplete"
                };
                let response = json!({ "response": self.response() });
                frames.push_str(&self.frame(kind, response));
                frames
            }
            RunEvent::Failed { error, .. } => {
                let code = error.code.clone().unwrap_or_default();
                self.failed(&error.message, &code)
            }
            RunEvent::Cancelled { usage, .. } => {
                self.usage = Some(*usage);
                self.failed("the turn was stopped before its end", "agent_incomplete")
            }
            _ => String::new(),
        }
    }

    /// The response has failed.
    pub(super) fn failed(&mut self, message: &str, code: &str) -> String {
        let mut frames = self.said();
        self.status = "failed";
        self.error = json!({ "code": code, "message": message });
        let response = json!({ "response": self.response() });
        frames.push_str(&self.frame("response.failed", response));
        frames
    }

    /// The place of the last item.
    fn at(&self) -> usize {
        self.output.len().saturating_sub(1)
    }

    fn message(at: usize, status: &str, parts: &Value) -> Value {
        json!({
            "id": format!("msg_{at}"), "type": "message", "role": "assistant",
            "status": status, "content": parts,
        })
    }

    fn part(text: &str) -> Value {
        json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
    }

    /// A piece of text.
    fn say(&mut self, delta: &str) -> String {
        let mut frames = String::new();
        let delta = if self.saying.is_none() { delta.trim_start_matches('\n') } else { delta };
        if delta.is_empty() {
            return frames;
        }
        if self.saying.is_none() {
            let at = self.output.len();
            let item = Self::message(at, "in_progress", &json!([]));
            self.output.push(item.clone());
            self.saying = Some(String::new());
            let added = json!({ "output_index": at, "item": item });
            frames.push_str(&self.frame("response.output_item.added", added));
            let part = json!({
                "item_id": format!("msg_{at}"), "output_index": at, "content_index": 0,
                "part": Self::part(""),
            });
            frames.push_str(&self.frame("response.content_part.added", part));
        }
        if let Some(text) = &mut self.saying {
            text.push_str(delta);
        }
        let at = self.at();
        let piece = json!({
            "item_id": format!("msg_{at}"), "output_index": at, "content_index": 0,
            "delta": delta, "logprobs": [],
        });
        frames.push_str(&self.frame("response.output_text.delta", piece));
        frames
    }

    /// The message that is being said is whole.
    fn said(&mut self) -> String {
        let Some(text) = self.saying.take() else { return String::new() };
        let at = self.at();
        let id = format!("msg_{at}");
        let item = Self::message(at, "completed", &json!([Self::part(&text)]));
        if let Some(last) = self.output.last_mut() {
            last.clone_from(&item);
        }
        let place = json!({ "item_id": id, "output_index": at, "content_index": 0 });
        let (mut done, mut part) = (place.clone(), place);
        done["text"] = json!(text);
        done["logprobs"] = json!([]);
        part["part"] = Self::part(&text);
        let mut frames = self.frame("response.output_text.done", done);
        frames.push_str(&self.frame("response.content_part.done", part));
        let whole = json!({ "output_index": at, "item": item });
        frames.push_str(&self.frame("response.output_item.done", whole));
        frames
    }

    fn call(&mut self, id: &str, tool: &str, arguments: &str) -> String {
        let mut frames = self.said();
        let at = self.output.len();
        let item = |status: &str, arguments: &str| {
            json!({
                "id": format!("fc_{at}"), "type": "function_call", "call_id": id, "name": tool,
                "arguments": arguments, "status": status,
            })
        };
        let added = json!({ "output_index": at, "item": item("in_progress", "") });
        frames.push_str(&self.frame("response.output_item.added", added));
        let place = json!({ "item_id": format!("fc_{at}"), "output_index": at });
        let (mut piece, mut done) = (place.clone(), place);
        piece["delta"] = json!(arguments);
        done["arguments"] = json!(arguments);
        done["name"] = json!(tool);
        frames.push_str(&self.frame("response.function_call_arguments.delta", piece));
        frames.push_str(&self.frame("response.function_call_arguments.done", done));
        let whole = item("completed", arguments);
        self.output.push(whole.clone());
        let done = json!({ "output_index": at, "item": whole });
        frames.push_str(&self.frame("response.output_item.done", done));
        frames
    }

    /// An item that comes in one piece.
    fn whole(&mut self, item: &Value) -> String {
        let mut frames = self.said();
        let at = self.output.len();
        self.output.push(item.clone());
        let value = json!({ "output_index": at, "item": item });
        frames.push_str(&self.frame("response.output_item.added", value.clone()));
        frames.push_str(&self.frame("response.output_item.done", value));
        frames
    }
}
