//! Chat completion chunks, and whole completions, as replies.

use petasos_contract::model::{Delta, Finish, Reply, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::failure;
use crate::transport::assemble::{Assembly, Slot};
use crate::transport::decode::{DecodeError, Fold, parse};
use crate::transport::target::Target;
use crate::transport::think::{CLOSE, Piece as Thought, Splitter};

/// One completion under construction.
#[derive(Debug)]
pub(super) struct Chat {
    assembly: Assembly,
    splitter: Splitter,
    details: Vec<Map<String, Value>>,
    chunks: u64,
    is_done: bool,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    id: Option<String>,
    model: Option<String>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Option<Said<'a>>,
    #[serde(borrow)]
    message: Option<Said<'a>>,
    finish_reason: Option<String>,
}

/// Fields stay raw where servers disagree about their type.
#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_details: Option<&'a RawValue>,
    refusal: Option<String>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    index: Option<u64>,
    id: Option<Value>,
    #[serde(borrow)]
    function: Option<FunctionPiece<'a>>,
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct FunctionPiece<'a> {
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Chat {
    pub(super) fn new(target: &Target) -> Self {
        Self {
            assembly: Assembly::new(target.issuer()),
            splitter: Splitter::default(),
            details: Vec::new(),
            chunks: 0,
            is_done: false,
        }
    }

    fn take(&mut self, chunk: Chunk<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.chunks += 1;
        if let Some(error) = chunk.error {
            let fault = failure::fault(&json!({"error": parse::<Value>(error.get())?}));
            return Err(DecodeError::Fault { fault });
        }
        if self.assembly.id.is_none() {
            self.assembly.id = chunk.id;
            self.assembly.model = chunk.model;
        }
        if let Some(usage) = chunk.usage {
            self.usage(&parse::<Value>(usage.get())?);
        }
        for choice in chunk.choices.into_iter().flatten().filter(|choice| choice.index == 0) {
            if let Some(said) = choice.delta.or(choice.message) {
                self.said(said, out)?;
            }
            if let Some(finish) = choice.finish_reason.as_deref().filter(|word| !word.is_empty()) {
                // A refusal says `stop` and is none.
                if self.assembly.finish != Some(Finish::ContentFilter) {
                    self.assembly.finish = Some(finish_of(finish));
                }
            }
        }
        Ok(())
    }

    fn said(&mut self, said: Said<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let mut reasoning = text(said.reasoning_content)?;
        if reasoning.is_empty() {
            reasoning = text(said.reasoning)?;
        }
        if let Some(details) = said.reasoning_details {
            let visible = self.detail(parse(details.get())?);
            if reasoning.is_empty() {
                reasoning = visible;
            }
        }
        self.assembly.reasoning(&reasoning, out)?;
        let content = text(said.content)?;
        if !content.is_empty() {
            for piece in self.splitter.push(&content) {
                self.piece(piece, out)?;
            }
        }
        if let Some(refusal) = said.refusal.filter(|refusal| !refusal.is_empty()) {
            self.assembly.text(&refusal, out)?;
            self.assembly.finish = Some(Finish::ContentFilter);
        }
        for call in said.tool_calls.into_iter().flatten() {
            self.flush(out)?;
            self.call(call, out)?;
        }
        Ok(())
    }

    fn piece(&mut self, piece: Thought, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        match piece {
            Thought::Text(text) => self.assembly.text(&text, out),
            Thought::Reasoning(text) => self.assembly.reasoning(&text, out),
        }
    }

    fn flush(&mut self, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.splitter.finish().map_or(Ok(()), |piece| self.piece(piece, out))
    }

    fn call(&mut self, call: CallPiece<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let id = match call.id {
            Some(Value::String(id)) => id,
            Some(Value::Number(id)) => id.to_string(),
            _ => String::new(),
        };
        let (name, arguments) = match call.function {
            Some(function) => (function.name.unwrap_or_default(), arguments(function.arguments)?),
            None => (String::new(), String::new()),
        };
        let data = call.extra_content.map(|data| data.get().to_owned());
        let last = self.assembly.slots().len().checked_sub(1);
        let place = match call.index {
            Some(key) => self.assembly.place(key),
            // Without an index a piece belongs to the call it names, or to the last one.
            None if id.is_empty() => last,
            None => self.assembly.slots().iter().rposition(|slot| slot.id == id),
        };
        // Some servers reuse one index for every call and tell them apart by identity only.
        let place = place.filter(|place| {
            let known = self.assembly.slots().get(*place).map_or("", |slot| slot.id.as_str());
            id.is_empty() || known.is_empty() || known == id
        });
        let Some(place) = place else {
            let key = call.index.unwrap_or_else(|| self.assembly.slots().len() as u64);
            let slot = Slot { key, id, name, arguments, provider_data: data };
            return self.assembly.open(slot, out).map(drop);
        };
        if let Some(slot) = self.assembly.slot(place) {
            if slot.id.is_empty() {
                slot.id = id;
            }
            if !name.is_empty() {
                slot.name = name;
            }
            slot.provider_data = data.or(slot.provider_data.take());
        }
        self.assembly.arguments(place, &arguments, out)
    }

    /// Joins the pieces of one reasoning detail; gives the text that a person may see.
    fn detail(&mut self, pieces: Vec<Map<String, Value>>) -> String {
        let mut visible = String::new();
        for piece in pieces {
            for key in ["text", "summary"] {
                visible.push_str(piece.get(key).and_then(Value::as_str).unwrap_or_default());
            }
            let same = |detail: &&mut Map<String, Value>| {
                piece.contains_key("index")
                    && detail.get("index") == piece.get("index")
                    && detail.get("type") == piece.get("type")
            };
            match self.details.iter_mut().rev().find(same) {
                Some(detail) => extend(detail, piece),
                None => self.details.push(piece),
            }
        }
        visible
    }

    fn usage(&mut self, usage: &Value) {
        if !usage.is_object() {
            return;
        }
        self.assembly.usage = usage_of(usage);
        self.assembly.cost_usd = usage.get("cost").and_then(Value::as_f64);
    }
}

impl Fold for Chat {
    fn event(&mut self, _: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(());
        }
        self.take(parse(data)?, out)
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let chunk: Chunk<'_> = parse(body)?;
        if chunk.error.is_none() && chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return Err(DecodeError::malformed("no choices", body));
        }
        self.take(chunk, out)?;
        self.is_done = true;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    fn is_settled(&self) -> bool {
        self.is_done || self.assembly.finish.is_some()
    }

    fn close(&mut self, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.flush(out)?;
        if self.chunks == 0 {
            return Err(DecodeError::Empty);
        }
        if !self.is_settled() {
            return Err(DecodeError::Truncated);
        }
        Ok(())
    }

    fn reply(&mut self) -> Reply {
        if self.splitter.was_outside() {
            self.assembly.think_until(CLOSE);
        }
        if !self.details.is_empty() {
            let details = Value::from(std::mem::take(&mut self.details));
            self.assembly.blocks.push(details.to_string());
        }
        self.assembly.usage.requests = 1;
        self.assembly.reply()
    }

    fn rescue(&mut self) -> Reply {
        self.assembly.rescue()
    }
}

fn extend(detail: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (key, value) in piece {
        let joins = matches!(key.as_str(), "text" | "summary" | "data" | "signature");
        match (detail.get_mut(&key), value) {
            (Some(Value::String(before)), Value::String(more)) if joins => before.push_str(&more),
            (_, Value::Null) => {}
            (_, value) => drop(detail.insert(key, value)),
        }
    }
}

/// Text, or the text of a list of parts, as some servers send it.
fn text(raw: Option<&RawValue>) -> Result<String, DecodeError> {
    let Some(raw) = raw else { return Ok(String::new()) };
    if raw.get().starts_with('"') {
        return parse(raw.get());
    }
    let Value::Array(parts) = parse(raw.get())? else { return Ok(String::new()) };
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
    Ok(texts.collect())
}

/// Argument text; some servers send the object itself.
fn arguments(raw: Option<&RawValue>) -> Result<String, DecodeError> {
    match raw {
        None => Ok(String::new()),
        Some(raw) if raw.get().starts_with('"') => parse(raw.get()),
        Some(raw) => Ok(raw.get().to_owned()),
    }
}

fn finish_of(word: &str) -> Finish {
    match word {
        "length" | "max_tokens" => Finish::Length,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "content_filter" | "safety" => Finish::ContentFilter,
        _ => Finish::Stop,
    }
}

/// The buckets of a chat usage object; a provider's sums never make one negative.
fn usage_of(usage: &Value) -> Usage {
    let at = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let first = |paths: &[&str]| paths.iter().map(|path| at(path)).find(|n| *n > 0).unwrap_or(0);
    let cache_read = first(&[
        "/prompt_tokens_details/cached_tokens",
        "/prompt_cache_hit_tokens",
        "/cache_read_input_tokens",
        "/cached_tokens",
    ]);
    let cache_write = first(&[
        "/prompt_tokens_details/cache_write_tokens",
        "/prompt_tokens_details/cache_creation_tokens",
        "/cache_creation_input_tokens",
    ]);
    Usage {
        input: at("/prompt_tokens").saturating_sub(cache_read).saturating_sub(cache_write),
        output: at("/completion_tokens"),
        cache_read,
        cache_write,
        reasoning: at("/completion_tokens_details/reasoning_tokens"),
        requests: 0,
    }
}
