//! generateContent answers, streamed or whole, as replies.

use petasos_contract::model::{Delta, Finish, Reply, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::failure;
use crate::transport::assemble::{Assembly, Slot};
use crate::transport::decode::{DecodeError, Fold, parse};
use crate::transport::target::Target;

/// One answer under construction.
#[derive(Debug)]
pub(super) struct Generated {
    assembly: Assembly,
    events: u64,
    /// How many events each call was last touched by.
    touched: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    #[serde(default)]
    candidates: Vec<Candidate>,
    usage_metadata: Option<Value>,
    prompt_feedback: Option<Value>,
    model_version: Option<String>,
    response_id: Option<String>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Contents>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Contents {
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    text: Option<String>,
    #[serde(default)]
    thought: bool,
    thought_signature: Option<String>,
    function_call: Option<FunctionCall>,
}

#[derive(Deserialize)]
struct FunctionCall {
    #[serde(default)]
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
}

impl Generated {
    pub(super) fn new(target: &Target) -> Self {
        Self { assembly: Assembly::new(target.issuer()), events: 0, touched: Vec::new() }
    }

    fn take(&mut self, answer: Answer, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.events += 1;
        if let Some(error) = answer.error {
            let fault = failure::fault(&json!({"error": error}));
            return Err(DecodeError::Fault { fault });
        }
        self.assembly.model = answer.model_version.or(self.assembly.model.take());
        self.assembly.id = answer.response_id.or(self.assembly.id.take());
        if let Some(usage) = &answer.usage_metadata {
            self.assembly.usage = usage_of(usage);
        }
        let blocked = answer.prompt_feedback.as_ref().and_then(|said| said.get("blockReason"));
        if blocked.is_some_and(|reason| !reason.is_null()) {
            self.assembly.finish = Some(Finish::ContentFilter);
        }
        let Some(candidate) = answer.candidates.into_iter().next() else { return Ok(()) };
        for part in candidate.content.into_iter().flat_map(|content| content.parts) {
            self.part(part, out)?;
        }
        if let Some(word) = candidate.finish_reason.as_deref() {
            self.assembly.finish = Some(finish_of(word)?);
        }
        Ok(())
    }

    fn part(&mut self, part: Part, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if let Some(text) = &part.text {
            if part.thought {
                self.assembly.reasoning(text, out)?;
            } else {
                self.assembly.text(text, out)?;
            }
        }
        match part.function_call {
            Some(call) => self.call(call, part.thought_signature, out),
            None => Ok(()),
        }
    }

    /// Opens a call, unless it is an earlier one told again with more arguments.
    fn call(
        &mut self,
        call: FunctionCall,
        signature: Option<String>,
        out: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let arguments = Value::Object(call.args.clone()).to_string();
        let data = signature.map(|signature| json!({"thoughtSignature": signature}).to_string());
        let slots = self.assembly.slots().iter().zip(&self.touched).enumerate();
        let same = slots.rev().find(|(_, (slot, touched))| {
            **touched < self.events
                && slot.name == call.name
                && (slot.id == call.id || call.id.is_empty())
                && (data.is_none() || slot.provider_data.is_none() || slot.provider_data == data)
                && extends(&call.args, &slot.arguments)
        });
        let Some((place, _)) = same else {
            let key = self.assembly.slots().len() as u64;
            let slot = Slot { key, id: call.id, name: call.name, arguments, provider_data: data };
            self.assembly.open(slot, out)?;
            self.touched.push(self.events);
            return Ok(());
        };
        if let Some(touched) = self.touched.get_mut(place) {
            *touched = self.events;
        }
        if let Some(slot) = self.assembly.slot(place) {
            slot.arguments = arguments;
            slot.provider_data = data.or(slot.provider_data.take());
        }
        Ok(())
    }
}

/// Whether the later arguments hold all that the earlier ones did and at most add to them. A text
/// that merely begins the same belongs to another call: both run, or one would be lost.
fn extends(later: &Map<String, Value>, earlier: &str) -> bool {
    let earlier: Map<String, Value> = serde_json::from_str(earlier).unwrap_or_default();
    earlier.iter().all(|(key, before)| later.get(key) == Some(before))
}

impl Fold for Generated {
    fn event(&mut self, _: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.take(parse(data)?, out)
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.take(parse(body)?, out)?;
        if self.assembly.finish.is_none() && self.assembly.is_empty() {
            return Err(DecodeError::malformed("no candidates", body));
        }
        self.assembly.finish.get_or_insert(Finish::Stop);
        Ok(())
    }

    fn is_done(&self) -> bool {
        false
    }

    fn is_settled(&self) -> bool {
        self.assembly.finish.is_some()
    }

    fn close(&mut self, _: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if self.events == 0 {
            return Err(DecodeError::Empty);
        }
        if self.is_settled() { Ok(()) } else { Err(DecodeError::Truncated) }
    }

    fn reply(&mut self) -> Reply {
        self.assembly.usage.requests = 1;
        self.assembly.reply()
    }

    fn rescue(&mut self) -> Reply {
        self.assembly.rescue()
    }
}

fn finish_of(word: &str) -> Result<Finish, DecodeError> {
    Ok(match word {
        // Imitations name the call; the assembly turns a stop with calls into that anyway.
        "STOP" | "FINISH_REASON_UNSPECIFIED" | "FUNCTION_CALL" => Finish::Stop,
        "MAX_TOKENS" => Finish::Length,
        // The model wrote a call that cannot be read: nothing here may run.
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => {
            return Err(DecodeError::malformed("a malformed function call", word));
        }
        _ => Finish::ContentFilter,
    })
}

fn usage_of(usage: &Value) -> Usage {
    let at = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or(0);
    let cached = at("cachedContentTokenCount");
    let thoughts = at("thoughtsTokenCount");
    Usage {
        input: at("promptTokenCount").saturating_sub(cached),
        output: at("candidatesTokenCount").saturating_add(thoughts),
        cache_read: cached,
        cache_write: 0,
        reasoning: thoughts,
        requests: 0,
    }
}
