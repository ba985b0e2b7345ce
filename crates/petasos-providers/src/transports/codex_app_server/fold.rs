//! What the program reports of its turn, into a reply.

use petasos_contract::model::{Delta, Finish, Reply, Usage};
use serde_json::Value;

use crate::transport::assemble::Assembly;
use crate::transport::decode::{DecodeError, Fault, Fold};
use crate::transport::program::Line;
use crate::transport::target::Target;

/// One turn.
pub(super) struct Turn {
    assembly: Assembly,
    /// The message that is being written.
    item: String,
    /// Messages that came in pieces.
    seen: Vec<String>,
    /// Messages that are thoughts and not the answer.
    commentary: Vec<String>,
    done: bool,
}

impl Turn {
    pub(super) fn new(target: &Target) -> Self {
        Self {
            assembly: Assembly::new(target.issuer()),
            item: String::new(),
            seen: Vec::new(),
            commentary: Vec::new(),
            done: false,
        }
    }

    fn told(
        &mut self,
        method: &str,
        params: &Value,
        out: &mut Vec<Delta>,
    ) -> Result<(), DecodeError> {
        let word = |path: &str| params.pointer(path).and_then(Value::as_str).unwrap_or_default();
        match method {
            "item/started" => {
                if word("/item/type") == "agentMessage" && word("/item/phase") == "commentary" {
                    self.commentary.push(word("/item/id").to_owned());
                }
                Ok(())
            }
            "item/agentMessage/delta" => self.said(word("/itemId"), word("/delta"), out),
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" => {
                self.assembly.reasoning(word("/delta"), out)
            }
            "item/completed" => self.completed(params.get("item").unwrap_or(&Value::Null), out),
            "thread/tokenUsage/updated" => {
                self.assembly.usage = used(params);
                Ok(())
            }
            "turn/completed" => self.ended(params.get("turn").unwrap_or(&Value::Null)),
            _ => Ok(()),
        }
    }

    fn said(&mut self, item: &str, text: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        if !self.seen.iter().any(|known| known == item) {
            self.seen.push(item.to_owned());
        }
        if self.commentary.iter().any(|known| known == item) {
            return self.assembly.reasoning(text, out);
        }
        if self.item != item {
            if self.assembly.has_text() {
                self.assembly.text("\n\n", out)?;
            }
            item.clone_into(&mut self.item);
        }
        self.assembly.text(text, out)
    }

    /// What it did by itself is told in a line; a message that came without pieces is told whole.
    fn completed(&mut self, item: &Value, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        let word = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
        let line = match word("type") {
            "agentMessage" if !self.seen.iter().any(|known| known == word("id")) => {
                return self.said(word("id"), word("text"), out);
            }
            "commandExecution" => {
                let code = item.get("exitCode").and_then(Value::as_i64);
                let end = code.map_or(word("status").to_owned(), |code| format!("exit {code}"));
                format!("\n[it ran `{}`: {end}]\n", word("command"))
            }
            "fileChange" => {
                let count = item.get("changes").and_then(Value::as_array).map_or(0, Vec::len);
                format!("\n[it changed {count} files: {}]\n", word("status"))
            }
            "mcpToolCall" | "dynamicToolCall" => {
                format!("\n[it called {}: {}]\n", word("tool"), word("status"))
            }
            "webSearch" => format!("\n[it searched for {}]\n", word("query")),
            _ => return Ok(()),
        };
        self.assembly.reasoning(&line, out)
    }

    fn ended(&mut self, turn: &Value) -> Result<(), DecodeError> {
        self.done = true;
        self.assembly.usage.requests = 1;
        self.assembly.id = turn.get("id").and_then(Value::as_str).map(str::to_owned);
        match turn.get("status").and_then(Value::as_str) {
            Some("completed") => {
                self.assembly.finish = Some(Finish::Stop);
                Ok(())
            }
            status => Err(DecodeError::Fault { fault: fault(turn, status.unwrap_or("unknown")) }),
        }
    }
}

fn used(params: &Value) -> Usage {
    let count = |name: &str| {
        let path = format!("/tokenUsage/total/{name}");
        params.pointer(&path).and_then(Value::as_u64).unwrap_or(0)
    };
    let (read, written) = (count("cachedInputTokens"), count("cacheWriteInputTokens"));
    Usage {
        input: count("inputTokens").saturating_sub(read).saturating_sub(written),
        output: count("outputTokens"),
        cache_read: read,
        cache_write: written,
        reasoning: count("reasoningOutputTokens"),
        requests: 1,
    }
}

/// The kind of an error is a word, or an object of one word that may hold a status.
fn fault(turn: &Value, status: &str) -> Fault {
    let error = turn.get("error").unwrap_or(&Value::Null);
    let info = error.get("codexErrorInfo").unwrap_or(&Value::Null);
    let nested = info.as_object().and_then(|object| object.iter().next());
    let code = info.as_str().or(nested.map(|(name, _)| name.as_str()));
    let number = nested.and_then(|(_, inside)| inside.get("httpStatusCode")?.as_u64());
    let message = error.get("message").and_then(Value::as_str);
    Fault {
        status: number.and_then(|number| u16::try_from(number).ok()),
        code: code.map(str::to_owned),
        message: message.map_or_else(|| format!("the turn ended as {status}"), str::to_owned),
        ..Fault::default()
    }
}

impl Fold for Turn {
    fn event(&mut self, _: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        match Line::read(data)? {
            Line::Told(method, params) => self.told(&method, &params, out),
            Line::Answered(..) | Line::Asked { .. } => Ok(()),
        }
    }

    fn whole(&mut self, body: &str, out: &mut Vec<Delta>) -> Result<(), DecodeError> {
        self.event("", body, out)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn close(&mut self, _: &mut Vec<Delta>) -> Result<(), DecodeError> {
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
        self.assembly.rescue()
    }
}
