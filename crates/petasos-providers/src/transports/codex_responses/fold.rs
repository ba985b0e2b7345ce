//! Responses events, and whole responses, as replies.
//!
//! The finished items are the truth; the terminal event's own list is not read, because some
//! backends leave it empty.

use std::collections::BTreeSet;

use petasos_contract::model::{Delta, Finish, Reply, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::failure;
use crate::transport::assemble::{Assembly, Slot};
use crate::transport::decode::{DecodeError, Fold, parse};
use crate::transport::target::Target;

/// One response under construction.
#[derive(Debug)]
pub(super) struct Responses {
    assembly: Assembly,
    items: Vec<String>,
    /// Names of items that came without a place; the position stands in for it.
    unplaced: Vec<String>,
    /// Items announced and not finished, by place.
    open: BTreeSet<u64>,
    /// Places whose text already came in pieces.
    streamed: BTreeSet<u64>,
    /// The active message is not for the person: its text is reasoning.
    aside: bool,
    events: u64,
    ended: bool,
    incomplete: Option<Finish>,
    /// What reasoning or commentary alone means here.
    when_silent: Finish,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    output_index: Option<u64>,
    item_id: Option<String>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Responses {
    pub(super) fn new(target: &Target) -> Self {
        let providers = ["openai-codex", "xai", "xai-oauth", "copilot"];
        let goes_on = providers.contains(&target.provider.as_str());
        let when_silent = if goes_on { Finish::Incomplete } else { Finish::Stop };
        Self {
            assembly: Assembly::new(target.issuer()),
            items: Vec::new(),
            unplaced: Vec::new(),
            open: BTreeSet::new(),
            streamed: BTreeSet::new(),
            aside: false,
            events: 0,
            ended: false,
            incomplete: None,
            when_silent,
        }
    }

    /// Where an item stands. Some servers leave the index out and only repeat a name.
    fn place_of(&mut self, index: Option<u64>, names: [&str; 2]) -> u64 {
        if let Some(index) = index {
            return index;
        }
        let known = |name: &String| names.contains(&name.as_str());
        let at = self.unplaced.iter().rposition(known).unwrap_or_else(|| {
            let name = names.iter().find(|name| !name.is_empty()).unwrap_or(&"");
            self.unplaced.push((*name).to_owned());
            self.unplaced.len() - 1
        });
        at as u64
    }

    fn added(
        &mut self,
        index: Option<u64>,
        raw: &str,
        out: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let item: Map<String, Value> = parse(raw)?;
        let at = self.place_of(index, [text(&item, "id"), text(&item, "call_id")]);
        self.open.insert(at);
        match text(&item, "type") {
            "message" => self.aside = is_aside(&item),
            "function_call" if self.assembly.place(at).is_none() => {
                self.assembly.open(slot(at, &item), out)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn done(
        &mut self,
        index: Option<u64>,
        raw: &str,
        out: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let item: Map<String, Value> = parse(raw)?;
        let at = self.place_of(index, [text(&item, "id"), text(&item, "call_id")]);
        self.open.remove(&at);
        let came = self.streamed.contains(&at);
        match text(&item, "type") {
            "message" if !came => {
                let said = parts(&item, "content");
                if is_aside(&item) {
                    self.assembly.reasoning(&said, out)?;
                } else {
                    self.assembly.text(&said, out)?;
                }
            }
            "reasoning" if !came => {
                let summary = parts(&item, "summary") + &parts(&item, "content");
                self.assembly.reasoning(&summary, out)?;
            }
            "function_call" => self.called(at, &item, out)?,
            _ => {}
        }
        if item.get("type").and_then(Value::as_str) == Some("message") {
            self.aside = false;
        }
        if self.items.len() + self.unplaced.len() >= 4096 {
            return Err(DecodeError::TooLarge { what: "items", most: 4096 });
        }
        self.items.push(raw.to_owned());
        Ok(())
    }

    /// Arguments are taken whole from the finished item.
    fn called(
        &mut self,
        at: u64,
        item: &Map<String, Value>,
        out: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let finished = slot(at, item);
        match self.assembly.place(at) {
            None => self.assembly.open(finished, out).map(drop),
            Some(place) => {
                let told = self.assembly.slots().get(place).map_or(0, |slot| slot.arguments.len());
                let rest = finished.arguments.get(told..).unwrap_or_default().to_owned();
                self.assembly.arguments(place, &rest, out)?;
                if let Some(slot) = self.assembly.slot(place) {
                    *slot = finished;
                }
                Ok(())
            }
        }
    }

    fn piece(&mut self, event: &Event<'_>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let Some(raw) = event.delta.filter(|raw| raw.get().starts_with('"')) else { return Ok(()) };
        let piece: String = parse(raw.get())?;
        let at = self.place_of(event.output_index, [event.item_id.as_deref().unwrap_or(""), ""]);
        match event.kind.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.streamed.insert(at);
                if event.kind == "response.refusal.delta" {
                    self.incomplete = Some(Finish::ContentFilter);
                }
                if self.aside {
                    self.assembly.reasoning(&piece, out)
                } else {
                    self.assembly.text(&piece, out)
                }
            }
            "response.function_call_arguments.delta" => match self.assembly.place(at) {
                Some(place) => self.assembly.arguments(place, &piece, out),
                None => Ok(()),
            },
            kind if kind.contains("reasoning") => {
                self.streamed.insert(at);
                self.assembly.reasoning(&piece, out)
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, response: &Value) -> Result<(), DecodeError> {
        self.about(response);
        let error = response.get("error").is_some_and(|error| !error.is_null());
        if error || response.get("status").and_then(Value::as_str) == Some("failed") {
            return Err(DecodeError::Fault { fault: failure::fault(response) });
        }
        self.ended = true;
        match response.pointer("/incomplete_details/reason").and_then(Value::as_str) {
            Some("max_output_tokens") => self.incomplete = Some(Finish::Length),
            Some("content_filter") => self.incomplete = Some(Finish::ContentFilter),
            _ => {}
        }
        Ok(())
    }

    fn about(&mut self, response: &Value) {
        let word = |key: &str| response.get(key).and_then(Value::as_str).map(str::to_owned);
        self.assembly.id = word("id").or(self.assembly.id.take());
        self.assembly.model = word("model").or(self.assembly.model.take());
        let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) else { return };
        let at = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or(0);
        let cached = at("/input_tokens_details/cached_tokens");
        self.assembly.usage = Usage {
            input: at("/input_tokens").saturating_sub(cached),
            output: at("/output_tokens"),
            cache_read: cached,
            cache_write: 0,
            reasoning: at("/output_tokens_details/reasoning_tokens"),
            requests: 0,
        };
    }

    fn finish_of(&self) -> Finish {
        if !self.assembly.slots().is_empty() {
            return self.incomplete.unwrap_or(Finish::ToolCalls);
        }
        if let Some(finish) = self.incomplete {
            return finish;
        }
        let leaked = self.assembly.visible().trim_start().starts_with("to=functions.");
        if leaked {
            Finish::Incomplete
        } else if self.assembly.has_text() {
            Finish::Stop
        } else {
            self.when_silent
        }
    }
}

impl Fold for Responses {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        self.events += 1;
        let mut event: Event<'_> = parse(data)?;
        if event.kind.is_empty() {
            name.clone_into(&mut event.kind);
        }
        match event.kind.as_str() {
            "response.output_item.added" => {
                event.item.map_or(Ok(()), |item| self.added(event.output_index, item.get(), out))
            }
            "response.output_item.done" => {
                event.item.map_or(Ok(()), |item| self.done(event.output_index, item.get(), out))
            }
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => {
                let response: Value = event.response.map_or(Ok(Value::Null), |r| parse(r.get()))?;
                self.end(&response)
            }
            "response.created" | "response.in_progress" => {
                if let Some(response) = event.response {
                    self.about(&parse(response.get())?);
                }
                Ok(())
            }
            // Some servers put a bare error object into the stream.
            "" if event.error.is_some() => {
                Err(DecodeError::Fault { fault: failure::fault(&parse(data)?) })
            }
            "error" => Err(DecodeError::Fault { fault: failure::fault(&parse(data)?) }),
            kind if kind.rsplit('.').next() == Some("delta") => self.piece(&event, out),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        #[derive(Deserialize)]
        struct Whole<'a> {
            #[serde(borrow)]
            output: Option<Vec<&'a RawValue>>,
        }
        self.events += 1;
        let response: Value = parse(body)?;
        self.end(&response)?;
        let whole: Whole<'_> = parse(body)?;
        let Some(output) = whole.output else {
            return Err(DecodeError::malformed("no output", body));
        };
        for (at, item) in output.iter().enumerate() {
            self.done(Some(at as u64), item.get(), out)?;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.ended
    }

    fn close(&mut self, _: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if self.events == 0 {
            return Err(DecodeError::Empty);
        }
        if self.ended && self.items.is_empty() && self.assembly.is_empty() {
            return Err(DecodeError::Empty);
        }
        let all_finished = !self.items.is_empty() && self.open.is_empty();
        if self.ended || all_finished { Ok(()) } else { Err(DecodeError::Truncated) }
    }

    fn reply(&mut self) -> Reply {
        self.assembly.finish = Some(self.finish_of());
        let worth = |item: &String| {
            let item: Map<String, Value> = serde_json::from_str(item).unwrap_or_default();
            !text(&item, "encrypted_content").is_empty() || item.contains_key("phase")
        };
        if self.items.iter().any(worth) {
            self.assembly.blocks = std::mem::take(&mut self.items);
        }
        self.assembly.usage.requests = 1;
        self.assembly.reply()
    }

    fn rescue(&mut self) -> Reply {
        self.assembly.rescue()
    }
}

fn slot(at: u64, item: &Map<String, Value>) -> Slot {
    Slot {
        key: at,
        id: text(item, "call_id").to_owned(),
        name: text(item, "name").to_owned(),
        arguments: text(item, "arguments").to_owned(),
        provider_data: None,
    }
}

fn text<'a>(item: &'a Map<String, Value>, key: &str) -> &'a str {
    item.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_aside(item: &Map<String, Value>) -> bool {
    matches!(text(item, "phase"), "commentary" | "analysis")
}

/// The text of a list of parts, refusals included.
fn parts(item: &Map<String, Value>, key: &str) -> String {
    let parts = item.get(key).and_then(Value::as_array).into_iter().flatten();
    let texts = parts.filter_map(|part| part.get("text").or_else(|| part.get("refusal"))?.as_str());
    texts.collect()
}
