//! A reply under construction: text, reasoning, calls and usage, each within its bound.
//!
//! Every dialect pours its events in here, so that order, identities and limits are decided once.

use petasos_contract::message::{Assistant, Replay, RequestedCall};
use petasos_contract::model::{Delta, Finish, Reply, Usage};
use sha2::{Digest, Sha256};

use super::decode::DecodeError;

/// The most text, reasoning and arguments that one reply may hold together.
const REPLY_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most calls that one reply may ask for.
const CALLS_MAX: usize = 512;

/// A call under construction.
#[derive(Debug, Clone, Default)]
pub struct Slot {
    /// What the dialect finds it by: an index or an item.
    pub key: u64,
    /// As the provider named it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// JSON text so far.
    pub arguments: String,
    /// JSON text that only its provider understands.
    pub provider_data: Option<String>,
}

/// A reply under construction.
#[derive(Debug, Default)]
pub struct Assembly {
    text: String,
    reasoning: String,
    slots: Vec<Slot>,
    bytes: usize,
    /// Blocks to be replayed as they came.
    pub blocks: Vec<String>,
    /// Who can read them.
    pub issuer: String,
    /// Why it ended, once known.
    pub finish: Option<Finish>,
    /// What it used, as far as told.
    pub usage: Usage,
    /// What the provider says it cost, in dollars.
    pub cost_usd: Option<f64>,
    /// The provider's name of the model.
    pub model: Option<String>,
    /// The provider's name of the reply.
    pub id: Option<String>,
}

impl Assembly {
    /// For a reply by this issuer.
    pub fn new(issuer: String) -> Self {
        Self { issuer, ..Self::default() }
    }

    /// Adds visible text; it is told only while no call has begun.
    pub fn text(&mut self, piece: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.grow(piece)?;
        self.text.push_str(piece);
        if self.slots.is_empty() {
            out.push(Delta::Text { text: piece.to_owned() });
        }
        Ok(())
    }

    /// Adds visible reasoning.
    pub fn reasoning(&mut self, piece: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if piece.is_empty() {
            return Ok(());
        }
        self.grow(piece)?;
        self.reasoning.push_str(piece);
        out.push(Delta::Reasoning { text: piece.to_owned() });
        Ok(())
    }

    /// Opens a call and gives its place.
    pub fn open(&mut self, slot: Slot, out: &mut Vec<Delta>) -> Result<usize, DecodeError> {
        if self.slots.len() == CALLS_MAX {
            return Err(DecodeError::TooLarge { what: "calls", most: CALLS_MAX });
        }
        self.grow(&slot.arguments)?;
        let index = self.slots.len();
        let (name, id) = (slot.name.clone(), slot.id.clone());
        out.push(Delta::CallStarted { index, name, id });
        if !slot.arguments.is_empty() {
            out.push(Delta::CallArguments { index, text: slot.arguments.clone() });
        }
        self.slots.push(slot);
        Ok(index)
    }

    /// Adds a piece of a call's arguments.
    pub fn arguments(
        &mut self,
        index: usize,
        piece: &str,
        out: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        self.grow(piece)?;
        if let Some(slot) = self.slots.get_mut(index)
            && !piece.is_empty()
        {
            slot.arguments.push_str(piece);
            out.push(Delta::CallArguments { index, text: piece.to_owned() });
        }
        Ok(())
    }

    /// The latest call with this key.
    pub fn place(&self, key: u64) -> Option<usize> {
        self.slots.iter().rposition(|slot| slot.key == key)
    }

    /// A call by its place.
    pub fn slot(&mut self, index: usize) -> Option<&mut Slot> {
        self.slots.get_mut(index)
    }

    /// The calls so far.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Whether anything at all has arrived.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0 && self.slots.is_empty() && self.blocks.is_empty()
    }

    /// Whether visible text has arrived.
    pub fn has_text(&self) -> bool {
        !self.text.trim().is_empty()
    }

    /// The visible text so far.
    pub fn visible(&self) -> &str {
        &self.text
    }

    /// Takes what comes before a mark on a line of its own for reasoning: models whose template
    /// opens their thinking only ever close it.
    pub fn think_until(&mut self, mark: &str) {
        let Some((before, after)) = self.text.split_once(mark) else { return };
        if before.ends_with('\n') || after.starts_with('\n') {
            let (before, after) = (before.trim_end().to_owned(), after.trim_start().to_owned());
            self.reasoning.push_str(&before);
            self.text = after;
        }
    }

    /// Puts whole texts in place of what was collected, for dialects whose end repeats it all.
    pub fn settle(&mut self, text: String, reasoning: String) {
        self.text = text;
        self.reasoning = reasoning;
    }

    fn grow(&mut self, piece: &str) -> Result<(), DecodeError> {
        self.bytes += piece.len();
        if self.bytes > REPLY_BYTES_MAX {
            return Err(DecodeError::TooLarge { what: "bytes", most: REPLY_BYTES_MAX });
        }
        Ok(())
    }

    /// The finished reply. A call that the length limit cut stays in it with the arguments as far
    /// as they came, so that the reply is not taken for an empty one and the call cannot run.
    pub fn reply(&mut self) -> Reply {
        let mut finish = self.finish.unwrap_or_default();
        let calls = self.calls();
        if finish == Finish::Length {
            return self.give(finish, calls);
        }
        if !calls.is_empty() && finish != Finish::ContentFilter {
            finish = Finish::ToolCalls;
        } else if calls.is_empty() && finish == Finish::ToolCalls {
            finish = Finish::Stop;
        }
        self.give(finish, calls)
    }

    /// What arrived before an error.
    pub fn rescue(&mut self) -> Reply {
        self.blocks.clear();
        self.give(Finish::Length, Vec::new())
    }

    fn give(&mut self, finish: Finish, tool_calls: Vec<RequestedCall>) -> Reply {
        let some = |text: String| if text.is_empty() { None } else { Some(text) };
        let blocks = std::mem::take(&mut self.blocks);
        let issuer = self.issuer.clone();
        Reply {
            message: Assistant {
                content: some(std::mem::take(&mut self.text)),
                reasoning: some(std::mem::take(&mut self.reasoning)),
                tool_calls,
                replay: if blocks.is_empty() { None } else { Some(Replay { issuer, blocks }) },
            },
            finish,
            usage: self.usage,
            cost: self
                .cost_usd
                .map_or_else(Default::default, |usd| petasos_contract::model::Cost::Actual { usd }),
            model: self.model.take(),
            id: self.id.take(),
            ..Reply::default()
        }
    }

    fn calls(&mut self) -> Vec<RequestedCall> {
        // Without an argument a call takes none, unless the limit came before the first.
        let none = if self.finish == Some(Finish::Length) { "{" } else { "{}" };
        let slots = std::mem::take(&mut self.slots).into_iter().enumerate();
        let calls = slots.filter(|(_, slot)| !slot.name.trim().is_empty()).map(|(index, slot)| {
            let arguments =
                if slot.arguments.trim().is_empty() { none.to_owned() } else { slot.arguments };
            let id = if slot.id.trim().is_empty() {
                stand_in_id(&slot.name, &arguments, index)
            } else {
                slot.id
            };
            RequestedCall {
                id: id.into(),
                name: slot.name.trim().into(),
                arguments,
                provider_data: slot.provider_data,
            }
        });
        calls.collect()
    }
}

/// The same identity for the same call, for servers that give none.
pub fn stand_in_id(name: &str, arguments: &str, index: usize) -> String {
    let digest = Sha256::new()
        .chain_update(name)
        .chain_update([0])
        .chain_update(arguments)
        .chain_update([0])
        .chain_update(index.to_string())
        .finalize();
    format!("call_{}", hex(&digest, 6))
}

/// The first bytes of a digest, in hexadecimal.
pub fn hex(digest: &[u8], bytes: usize) -> String {
    let halves = digest.iter().take(bytes).flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(half.into(), 16)).collect()
}
