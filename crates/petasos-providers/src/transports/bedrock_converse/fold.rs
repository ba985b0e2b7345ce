//! Converse frames, and whole answers, as replies.

use std::collections::BTreeMap;

use petasos_contract::model::{Delta, Finish, Reply, Usage};
use serde_json::{Value, json};

use crate::failure;
use crate::transport::assemble::{Assembly, Slot};
use crate::transport::decode::{DecodeError, Fold, parse};
use crate::transport::target::Target;

/// One answer under construction.
#[derive(Debug)]
pub(super) struct Conversed {
    assembly: Assembly,
    /// Signed reasoning by block: text, signature, redacted bytes.
    thoughts: BTreeMap<u64, Thought>,
    frames: u64,
    has_usage: bool,
}

#[derive(Debug, Default)]
struct Thought {
    text: String,
    signature: String,
    redacted: Option<String>,
}

impl Conversed {
    pub(super) fn new(target: &Target) -> Self {
        Self {
            assembly: Assembly::new(target.issuer()),
            thoughts: BTreeMap::new(),
            frames: 0,
            has_usage: false,
        }
    }

    fn delta(&mut self, at: u64, delta: &Value, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if let Some(text) = delta.get("text").and_then(Value::as_str) {
            self.assembly.text(text, out)?;
        }
        if let Some(input) = delta.pointer("/toolUse/input").and_then(Value::as_str)
            && let Some(place) = self.assembly.place(at)
        {
            self.assembly.arguments(place, input, out)?;
        }
        if let Some(thought) = delta.get("reasoningContent") {
            self.thought(at, thought, out)?;
        }
        Ok(())
    }

    fn thought(&mut self, at: u64, said: &Value, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let word = |path: &str| said.pointer(path).and_then(Value::as_str);
        let thought = self.thoughts.entry(at).or_default();
        if let Some(signature) = word("/signature").or_else(|| word("/reasoningText/signature")) {
            thought.signature.push_str(signature);
        }
        if let Some(redacted) = word("/redactedContent") {
            thought.redacted = Some(redacted.to_owned());
        }
        if let Some(text) = word("/text").or_else(|| word("/reasoningText/text")) {
            thought.text.push_str(text);
            self.assembly.reasoning(text, out)?;
        }
        Ok(())
    }

    fn tool(&mut self, at: u64, tool: &Value, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let word = |key: &str| tool.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let arguments = tool.get("input").map(Value::to_string).unwrap_or_default();
        let slot = Slot {
            key: at,
            id: word("toolUseId"),
            name: word("name"),
            arguments,
            provider_data: None,
        };
        self.assembly.open(slot, out).map(drop)
    }

    fn usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let at = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
        self.has_usage = true;
        self.assembly.usage = Usage {
            input: at("inputTokens"),
            output: at("outputTokens"),
            cache_read: at("cacheReadInputTokens"),
            cache_write: at("cacheWriteInputTokens"),
            reasoning: 0,
            requests: 0,
        };
    }

    fn stop(&mut self, body: &Value) {
        let word = body.get("stopReason").and_then(Value::as_str).unwrap_or("end_turn");
        self.assembly.finish = Some(match word {
            "tool_use" => Finish::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "content_filtered" | "guardrail_intervened" => Finish::ContentFilter,
            _ => Finish::Stop,
        });
    }
}

impl Fold for Conversed {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.frames += 1;
        let body: Value = parse(data)?;
        let at = body.get("contentBlockIndex").and_then(Value::as_u64).unwrap_or(0);
        match name {
            "contentBlockStart" => {
                if let Some(tool) = body.pointer("/start/toolUse") {
                    self.tool(at, tool, out)?;
                }
            }
            "contentBlockDelta" => {
                if let Some(delta) = body.get("delta") {
                    self.delta(at, delta, out)?;
                }
            }
            "messageStop" => self.stop(&body),
            "metadata" => self.usage(body.get("usage")),
            kind if kind.ends_with("Exception") => {
                let mut fault = failure::fault(&body);
                // Frames spell exceptions with a small letter, headers with a capital.
                let mut letters = kind.chars();
                let first = letters.next().map(|letter| letter.to_ascii_uppercase());
                fault.code = Some(first.into_iter().chain(letters).collect());
                return Err(DecodeError::Fault { fault });
            }
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.frames += 1;
        let answer: Value = parse(body)?;
        let Some(content) = answer.pointer("/output/message/content").and_then(Value::as_array)
        else {
            return Err(DecodeError::malformed("no output message", body));
        };
        for (at, block) in content.iter().enumerate() {
            let at = at as u64;
            match block.get("toolUse") {
                Some(tool) => self.tool(at, tool, out)?,
                None => self.delta(at, block, out)?,
            }
        }
        self.stop(&answer);
        self.usage(answer.get("usage"));
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.assembly.finish.is_some() && self.has_usage
    }

    fn is_settled(&self) -> bool {
        self.assembly.finish.is_some()
    }

    fn close(&mut self, _: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if self.frames == 0 {
            return Err(DecodeError::Empty);
        }
        if self.is_settled() { Ok(()) } else { Err(DecodeError::Truncated) }
    }

    fn reply(&mut self) -> Reply {
        for thought in std::mem::take(&mut self.thoughts).into_values() {
            let block = match thought.redacted {
                Some(redacted) => json!({"reasoningContent": {"redactedContent": redacted}}),
                None if thought.signature.is_empty() => continue,
                None => json!({"reasoningContent": {"reasoningText":
                    {"text": thought.text, "signature": thought.signature}}}),
            };
            self.assembly.blocks.push(block.to_string());
        }
        self.assembly.usage.requests = 1;
        self.assembly.reply()
    }

    fn rescue(&mut self) -> Reply {
        self.assembly.rescue()
    }
}
