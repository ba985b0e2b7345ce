//! Messages events, and whole messages, as replies.
//!
//! Every content block is also rebuilt as JSON for replay: its start event with the deltas
//! folded in. The signature of a thinking block covers its text, which is kept exactly.

use petasos_contract::model::{Delta, Finish, Reply};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::bedrock;
use crate::failure;
use crate::transport::assemble::{Assembly, Slot};
use crate::transport::decode::{DecodeError, Fold, parse};
use crate::transport::target::Target;

/// One message under construction.
#[derive(Debug)]
pub(super) struct Messages {
    assembly: Assembly,
    /// Blocks by the index of their events.
    open: Vec<(u64, Open)>,
    /// The blocks of a message that came whole, as they came.
    exact: Vec<String>,
    started: bool,
    stopped: bool,
}

#[derive(Debug)]
struct Open {
    block: Map<String, Value>,
    json: String,
    place: Option<usize>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Piece {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    signature: String,
    #[serde(default)]
    partial_json: String,
    stop_reason: Option<String>,
}

impl Messages {
    pub(super) fn new(target: &Target) -> Self {
        Self {
            assembly: Assembly::new(target.issuer()),
            open: Vec::new(),
            exact: Vec::new(),
            started: false,
            stopped: false,
        }
    }

    fn begin(&mut self, message: &Value) {
        self.started = true;
        let word = |key: &str| message.get(key).and_then(Value::as_str).map(str::to_owned);
        self.assembly.id = word("id");
        self.assembly.model = word("model");
        self.usage(message.get("usage"));
    }

    fn usage(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let put = |key: &str, bucket: &mut u64| {
            if let Some(count) = usage.get(key).and_then(Value::as_u64) {
                *bucket = count;
            }
        };
        let buckets = &mut self.assembly.usage;
        put("input_tokens", &mut buckets.input);
        put("output_tokens", &mut buckets.output);
        put("cache_read_input_tokens", &mut buckets.cache_read);
        put("cache_creation_input_tokens", &mut buckets.cache_write);
    }

    fn block(&mut self, at: u64, raw: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let block: Map<String, Value> = parse(raw)?;
        let text =
            |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut place = None;
        match text("type").as_str() {
            "text" => self.assembly.text(&text("text"), out)?,
            "thinking" => self.assembly.reasoning(&text("thinking"), out)?,
            "tool_use" => {
                let input = block
                    .get("input")
                    .filter(|input| input.as_object().is_some_and(|input| !input.is_empty()));
                let arguments = input.map(Value::to_string).unwrap_or_default();
                let slot = Slot {
                    key: at,
                    id: text("id"),
                    name: text("name"),
                    arguments,
                    provider_data: None,
                };
                place = Some(self.assembly.open(slot, out)?);
            }
            _ => {}
        }
        if self.open.len() > 4096 {
            return Err(DecodeError::TooLarge { what: "blocks", most: 4096 });
        }
        self.open.push((at, Open { block, json: String::new(), place }));
        Ok(())
    }

    fn piece(&mut self, at: u64, piece: &Piece, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let found = self.open.iter_mut().rev().find(|(index, _)| *index == at);
        let Some((_, open)) = found else {
            return Err(DecodeError::malformed(
                "a delta for a block that was not opened",
                &piece.kind,
            ));
        };
        match piece.kind.as_str() {
            "text_delta" => {
                append(&mut open.block, "text", &piece.text);
                self.assembly.text(&piece.text, out)
            }
            "thinking_delta" => {
                append(&mut open.block, "thinking", &piece.thinking);
                self.assembly.reasoning(&piece.thinking, out)
            }
            "signature_delta" => {
                append(&mut open.block, "signature", &piece.signature);
                Ok(())
            }
            "input_json_delta" => {
                open.json.push_str(&piece.partial_json);
                let place = open.place;
                place.map_or(Ok(()), |place| {
                    self.assembly.arguments(place, &piece.partial_json, out)
                })
            }
            _ => Ok(()),
        }
    }

    fn collect(&mut self) {
        for (_, mut open) in std::mem::take(&mut self.open) {
            if !open.json.is_empty()
                && let Ok(input) = serde_json::from_str::<Value>(&open.json)
            {
                open.block.insert("input".to_owned(), input);
            }
            let empty_text = open.block.get("type") == Some(&json!("text"))
                && open.block.get("text") == Some(&json!(""));
            if !empty_text {
                self.assembly.blocks.push(Value::Object(open.block).to_string());
            }
        }
        if !self.exact.is_empty() {
            self.assembly.blocks = std::mem::take(&mut self.exact);
        }
        // Without thinking the parts say it all, and edits stay possible.
        let thinks = |block: &String| {
            let kind = serde_json::from_str::<Value>(block);
            let kind = kind.ok().and_then(|block| block.get("type")?.as_str().map(str::to_owned));
            kind.is_some_and(|kind| kind.ends_with("thinking"))
        };
        if !self.assembly.blocks.iter().any(thinks) {
            self.assembly.blocks.clear();
        }
    }
}

impl Fold for Messages {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if let Some(inner) = bedrock::unwrapped(name, data)? {
            return self.event("", &inner, out);
        }
        let event: Event<'_> = parse(data)?;
        match event.kind.as_str() {
            "message_start" => {
                if let Some(message) = event.message {
                    self.begin(&parse(message.get())?);
                }
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    self.block(event.index, block.get(), out)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.delta {
                    self.piece(event.index, &parse(delta.get())?, out)?;
                }
            }
            "message_delta" => {
                if let Some(delta) = event.delta {
                    let piece: Piece = parse(delta.get())?;
                    self.assembly.finish = piece.stop_reason.as_deref().map(finish_of);
                }
                if let Some(usage) = event.usage {
                    self.usage(Some(&parse(usage.get())?));
                }
            }
            "message_stop" => self.stopped = true,
            "error" => {
                let error: Value = event.error.map_or(Ok(Value::Null), |raw| parse(raw.get()))?;
                let fault = failure::fault(&json!({"error": error}));
                return Err(DecodeError::Fault { fault });
            }
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        #[derive(Deserialize)]
        struct Whole<'a> {
            #[serde(borrow)]
            content: Option<Vec<&'a RawValue>>,
            stop_reason: Option<String>,
        }
        let message: Value = parse(body)?;
        if message.get("error").is_some_and(|error| !error.is_null()) {
            return Err(DecodeError::Fault { fault: failure::fault(&message) });
        }
        let whole: Whole<'_> = parse(body)?;
        let Some(content) = whole.content else {
            return Err(DecodeError::malformed("no content", body));
        };
        self.begin(&message);
        for (at, block) in content.iter().enumerate() {
            self.block(at as u64, block.get(), out)?;
        }
        self.exact = content.iter().map(|block| block.get().to_owned()).collect();
        self.assembly.finish = whole.stop_reason.as_deref().map(finish_of);
        self.stopped = true;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.stopped
    }

    fn is_settled(&self) -> bool {
        self.stopped || self.assembly.finish.is_some()
    }

    fn close(&mut self, _: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if !self.started && self.assembly.is_empty() {
            return Err(DecodeError::Empty);
        }
        if !self.is_settled() {
            return Err(DecodeError::Truncated);
        }
        // Silence is an answer only when the model says that it is done or refuses.
        let may_be_silent = matches!(
            self.assembly.finish,
            None | Some(Finish::Stop | Finish::ContentFilter | Finish::Incomplete)
        );
        if self.open.is_empty() && !may_be_silent {
            return Err(DecodeError::Empty);
        }
        Ok(())
    }

    fn reply(&mut self) -> Reply {
        self.collect();
        self.assembly.usage.requests = 1;
        self.assembly.reply()
    }

    fn rescue(&mut self) -> Reply {
        self.assembly.rescue()
    }
}

fn append(block: &mut Map<String, Value>, key: &str, piece: &str) {
    match block.get_mut(key) {
        Some(Value::String(text)) => text.push_str(piece),
        _ => drop(block.insert(key.to_owned(), json!(piece))),
    }
}

fn finish_of(word: &str) -> Finish {
    match word {
        "tool_use" => Finish::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => Finish::Length,
        "refusal" => Finish::ContentFilter,
        "pause_turn" => Finish::Incomplete,
        _ => Finish::Stop,
    }
}
