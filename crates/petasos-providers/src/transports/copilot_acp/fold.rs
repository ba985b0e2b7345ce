//! What the program reports, into a reply.

use petasos_contract::model::{Delta, Finish, Reply, Usage};
use serde_json::Value;

use super::calls::{Finder, Piece};
use crate::transport::assemble::{Assembly, Slot};
use crate::transport::decode::{DecodeError, Fold};
use crate::transport::program::{Line, TURN};
use crate::transport::target::Target;

/// One turn.
pub(super) struct Turn {
    assembly: Assembly,
    finder: Finder,
    done: bool,
}

impl Turn {
    pub(super) fn new(target: &Target) -> Self {
        Self { assembly: Assembly::new(target.issuer()), finder: Finder::default(), done: false }
    }

    fn told(&mut self, params: &Value, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let update = params.get("update").unwrap_or(&Value::Null);
        let word = |path: &str| update.pointer(path).and_then(Value::as_str).unwrap_or_default();
        match word("/sessionUpdate") {
            "agent_message_chunk" => {
                let pieces = self.finder.push(word("/content/text"));
                self.add(pieces, out)
            }
            "agent_thought_chunk" => self.assembly.reasoning(word("/content/text"), out),
            // What it tries by itself is refused, and shown as something it thought of.
            "tool_call" => {
                let line = format!("\n[it wants to: {}]\n", word("/title"));
                self.assembly.reasoning(&line, out)
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, pieces: Vec<Piece>, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.assembly.text(&text, out)?,
                Piece::Call { name, arguments } => {
                    let slot = Slot { name, arguments, ..Slot::default() };
                    self.assembly.open(slot, out)?;
                }
            }
        }
        Ok(())
    }

    fn ended(&mut self, result: &Value) {
        let reason = result.get("stopReason").and_then(Value::as_str).unwrap_or_default();
        self.assembly.finish = Some(match reason {
            "max_tokens" | "max_turn_requests" => Finish::Length,
            "refusal" => Finish::ContentFilter,
            _ => Finish::Stop,
        });
        let count = |name: &str| {
            result.pointer(&format!("/usage/{name}")).and_then(Value::as_u64).unwrap_or(0)
        };
        let (read, written) = (count("cachedReadTokens"), count("cachedWriteTokens"));
        self.assembly.usage = Usage {
            input: count("inputTokens").saturating_sub(read).saturating_sub(written),
            output: count("outputTokens"),
            cache_read: read,
            cache_write: written,
            reasoning: count("thoughtTokens"),
            requests: 1,
        };
        self.done = true;
    }
}

impl Fold for Turn {
    fn event(&mut self, _: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        match Line::read(data)? {
            Line::Told(method, params) if method == "session/update" => self.told(&params, out),
            Line::Answered(name, result) if name == TURN => {
                self.ended(&result);
                Ok(())
            }
            Line::Told(..) | Line::Answered(..) | Line::Asked { .. } => Ok(()),
        }
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.event("", body, out)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn close(&mut self, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let rest = self.finder.rest();
        self.assembly.text(&rest, out)?;
        match (self.done, self.assembly.is_empty()) {
            (true, false) => Ok(()),
            (_, true) => Err(DecodeError::Empty),
            (false, false) => Err(DecodeError::Truncated),
        }
    }

    fn reply(&mut self) -> Reply {
        self.assembly.reply()
    }

    fn rescue(&mut self) -> Reply {
        // What was held back as the beginning of a mark was text after all.
        let rest = self.finder.rest();
        if let Err(error) = self.assembly.text(&rest, &mut Vec::new()) {
            tracing::debug!(%error, "the end of a broken answer does not fit");
        }
        self.assembly.rescue()
    }
}
