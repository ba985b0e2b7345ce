//! Responses over a WebSocket, for endpoints that the user says speak it
//! (`providers.<id>.supports_websockets`).
//!
//! A conversation keeps its socket, and what the other side has heard is not sent again: the new
//! items follow `previous_response_id`. Whenever that does not fit exactly, the whole conversation
//! is sent, so a socket can only save bytes, never change what the model reads.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use petasos_contract::model::{Reason, Reply};
use petasos_contract::wait;
use petasos_net::Method;
use petasos_net::websocket::{WebSocketError, WebSocketReceiver, WebSocketSender};
use serde_json::{Map, Value, json};

use super::attempt::{Attempt, Broken};
use crate::credential::usable::fingerprint;
use crate::failure::Failure;
use crate::mode::Wire;
use crate::runtime::Channel;
use crate::timeouts::Timeouts;
use crate::transport::decode::{Decoder, Framing, WHOLE_BYTES_MAX};
use crate::transport::{TransportDef, WireRequest};

/// Conversations whose sockets stay open, and for how long without a question.
const OPEN_MAX: usize = 32;
const IDLE_MAX: Duration = Duration::from_mins(5);

/// The address, the conversation and the credential.
type Key = (String, String, Option<String>);

/// The open sockets of a client.
#[derive(Debug, Default)]
pub(super) struct Sockets(Mutex<HashMap<Key, Socket>>);

#[derive(Debug)]
struct Socket {
    sender: WebSocketSender,
    receiver: WebSocketReceiver,
    heard: Option<Heard>,
    used: Instant,
}

/// What the other side knows of a conversation.
#[derive(Debug, Clone)]
struct Heard {
    response: String,
    input: Vec<Value>,
    /// Everything but the input.
    around: Map<String, Value>,
    calls: BTreeSet<String>,
}

/// What is asked, in which dialect, and for how long.
struct Question<'a> {
    transport: &'a TransportDef,
    wire: &'a WireRequest,
    spans: (&'a Timeouts, Instant),
}

/// Why a question over a socket has no answer.
enum Unanswered {
    /// The endpoint does not offer it: HTTP does.
    NotOffered(String),
    /// An old socket was gone, or no longer knew the conversation: nothing was answered.
    Stale,
    /// As over HTTP.
    Failed(Box<Broken>),
}

impl Sockets {
    fn take(&self, key: &Key) -> Option<Socket> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|_, socket| socket.used.elapsed() < IDLE_MAX);
        open.remove(key)
    }

    fn put(&self, key: Key, socket: Socket) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while open.len() >= OPEN_MAX {
            let oldest = open.iter().min_by_key(|(_, socket)| socket.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            open.remove(&oldest);
        }
        open.insert(key, socket);
    }
}

impl Attempt<'_> {
    /// Whether the endpoint is asked over a socket.
    pub(super) fn has_socket(&self) -> bool {
        self.runtime.wire == Wire::CodexResponses
            && self.runtime.overrides.channel == Channel::WebSocket
    }

    /// Asks over a socket; nothing when the endpoint turns out not to offer one, which a person is
    /// told once.
    pub(super) async fn over_socket(
        &self,
        transport: &TransportDef,
        wire: &WireRequest,
        spans: (&Timeouts, Instant),
    ) -> Option<Result<Reply, Box<Broken>>> {
        let Ok(Value::Object(body)) = serde_json::from_slice(&wire.body) else { return None };
        let question = Question { transport, wire, spans };
        let secret = self.runtime.credential.as_ref().map(|it| fingerprint(&it.secret));
        let key = (wire.url.clone(), self.cx.session.to_string(), secret);
        let kept = self.client.sockets.take(&key);
        let was_kept = kept.is_some();
        let mut asked = self.ask_socket(&question, &body, &key, kept).await;
        if matches!(asked, Err(Unanswered::Stale)) && was_kept {
            asked = self.ask_socket(&question, &body, &key, None).await;
        }
        match asked {
            Ok(reply) => Some(Ok(reply)),
            Err(Unanswered::Failed(broken)) => Some(Err(broken)),
            Err(Unanswered::Stale) => {
                let line = "the socket closed before an answer";
                Some(Err(self.broken(Failure::new(Reason::Timeout, line), None)))
            }
            Err(Unanswered::NotOffered(why)) => {
                let name = self.runtime.name();
                let text = format!("`{name}` is asked over HTTP: {why}");
                self.client.tell_once(format!("socket {}", wire.url), &text, self.cx);
                None
            }
        }
    }

    async fn ask_socket(
        &self,
        question: &Question<'_>,
        body: &Map<String, Value>,
        key: &Key,
        kept: Option<Socket>,
    ) -> Result<Reply, Unanswered> {
        let Question { transport, wire, spans } = *question;
        let timeouts = spans.0;
        let mut socket = match kept {
            Some(socket) => socket,
            None => self.connect(wire, timeouts).await?,
        };
        let (input, around) = parts(body);
        let frame = frame(socket.heard.take(), &input, &around);
        if socket.sender.send(frame.to_string(), timeouts.first_byte).await.is_err() {
            return Err(Unanswered::Stale);
        }
        let mut decoder = (transport.decoder)(self.target, Framing::Lines);
        let read = self.read_socket(&mut socket, decoder.as_mut(), spans).await;
        let (read, response) = match read {
            Ok(response) => (Ok(()), response),
            Err(Unread::Stale) => return Err(Unanswered::Stale),
            Err(Unread::Failed(failure)) => (Err(failure), None),
        };
        let reply = self.conclude(transport, decoder.as_mut(), read).map_err(Unanswered::Failed)?;
        let calls = reply.message.tool_calls.iter().map(|call| call.id.to_string()).collect();
        socket.heard = response.map(|response| Heard { response, input, around, calls });
        socket.used = Instant::now();
        self.client.sockets.put(key.clone(), socket);
        Ok(reply)
    }

    async fn connect(&self, wire: &WireRequest, timeouts: &Timeouts) -> Result<Socket, Unanswered> {
        let request = WireRequest { body: Vec::new(), ..wire.clone() };
        let mut request = self.request(request, timeouts).map_err(Unanswered::Failed)?;
        request.method = Method::GET;
        match self.client.net.websocket(request, WHOLE_BYTES_MAX).await {
            Ok(socket) => {
                let (sender, receiver) = socket.split();
                Ok(Socket { sender, receiver, heard: None, used: Instant::now() })
            }
            Err(WebSocketError::Net(error)) => {
                Err(Unanswered::Failed(self.broken(self.of_net(&error), None)))
            }
            Err(error) => Err(Unanswered::NotOffered(error.to_string())),
        }
    }

    /// Feeds the decoder until the answer ends, and gives the response's own name.
    async fn read_socket(
        &self,
        socket: &mut Socket,
        decoder: &mut dyn Decoder,
        (timeouts, deadline): (&Timeouts, Instant),
    ) -> Result<Option<String>, Unread> {
        let (mut deltas, mut response, mut is_first) = (Vec::new(), None, true);
        while !decoder.is_done() {
            let span = if is_first { timeouts.first_byte } else { timeouts.idle };
            let until = deadline.min(Instant::now() + span);
            let text = match wait::until(until, "a model's next words", socket.receiver.next())
                .await
            {
                Ok(Some(Ok(text))) => text,
                Ok(_) if is_first => return Err(Unread::Stale),
                Ok(Some(Err(error))) => {
                    return Err(Unread::failed(Reason::Timeout, error.to_string()));
                }
                Ok(None) => break,
                Err(elapsed) => return Err(Unread::failed(Reason::Timeout, elapsed.to_string())),
            };
            if is_first && is_forgotten(&text) {
                return Err(Unread::Stale);
            }
            is_first = false;
            response = response.or_else(|| response_id(&text));
            // A frame is one event; the decoder cuts at line ends, which JSON may have between words.
            let line = format!("{}\n", text.replace(['\r', '\n'], " "));
            let pushed = decoder.push(line.as_bytes(), &mut deltas);
            self.tell(&mut deltas);
            pushed.map_err(|error| Unread::Failed(Box::new(self.of_decoding(&error))))?;
        }
        Ok(response)
    }
}

/// Why an answer was not read.
enum Unread {
    Stale,
    Failed(Box<Failure>),
}

impl Unread {
    fn failed(reason: Reason, line: String) -> Self {
        Self::Failed(Box::new(Failure::new(reason, line)))
    }
}

/// The items of a request, and everything else. What only HTTP needs is left out.
fn parts(body: &Map<String, Value>) -> (Vec<Value>, Map<String, Value>) {
    let mut around = body.clone();
    for name in ["stream", "background", "stream_options"] {
        around.remove(name);
    }
    let input = match around.remove("input") {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    (input, around)
}

/// The message that asks: only what is new, where the other side knows the rest.
fn frame(heard: Option<Heard>, input: &[Value], around: &Map<String, Value>) -> Value {
    let mut frame = around.clone();
    frame.insert("type".to_owned(), json!("response.create"));
    let fresh = heard.and_then(|heard| Some((fresh(&heard, input, around)?, heard.response)));
    match fresh {
        Some((fresh, response)) => {
            frame.insert("input".to_owned(), json!(fresh));
            frame.insert("previous_response_id".to_owned(), json!(response));
        }
        None => {
            frame.insert("input".to_owned(), json!(input));
        }
    }
    Value::Object(frame)
}

/// The items after the last answer, if everything before them is what the other side knows.
fn fresh<'a>(
    heard: &Heard,
    input: &'a [Value],
    around: &Map<String, Value>,
) -> Option<&'a [Value]> {
    let after = input.strip_prefix(heard.input.as_slice())?;
    if *around != heard.around {
        return None;
    }
    let kind =
        |item: &Value| item.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_answer = |item: &&Value| {
        matches!(kind(item).as_str(), "reasoning" | "function_call")
            || item.get("role").and_then(Value::as_str) == Some("assistant")
    };
    let answered = after.iter().take_while(is_answer).count();
    let (answer, rest) = after.split_at(answered);
    let calls: BTreeSet<String> = answer
        .iter()
        .filter(|item| kind(item) == "function_call")
        .filter_map(|item| item.get("call_id")?.as_str().map(str::to_owned))
        .collect();
    (calls == heard.calls && !rest.is_empty()).then_some(rest)
}

/// Whether the other side says that it no longer knows the conversation, or the socket.
fn is_forgotten(text: &str) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(text) else { return false };
    let code = event.pointer("/error/code").or_else(|| event.get("code")).and_then(Value::as_str);
    let gone = ["previous_response_not_found", "websocket_connection_limit_reached"];
    code.is_some_and(|code| gone.contains(&code))
}

fn response_id(text: &str) -> Option<String> {
    if !text.contains("response.created") {
        return None;
    }
    let event: Value = serde_json::from_str(text).ok()?;
    event.pointer("/response/id")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(input: &[Value]) -> Heard {
        Heard {
            response: "resp_1".to_owned(),
            input: input.to_vec(),
            around: Map::new(),
            calls: ["c1".to_owned()].into(),
        }
    }

    #[test]
    fn only_what_is_new_follows_what_the_other_side_knows() {
        let said = json!({"role": "user", "content": "hi"});
        let call =
            json!({"type": "function_call", "call_id": "c1", "name": "x", "arguments": "{}"});
        let done = json!({"type": "function_call_output", "call_id": "c1", "output": "ok"});
        let all = [said.clone(), call.clone(), done.clone()];
        let message = frame(Some(heard(std::slice::from_ref(&said))), &all, &Map::new());
        assert_eq!(message["previous_response_id"], "resp_1");
        assert_eq!(message["input"], json!([done]));
        assert_eq!(message["type"], "response.create");
    }

    #[test]
    fn whatever_differs_is_sent_whole() {
        let said = json!({"role": "user", "content": "hi"});
        let other =
            json!({"type": "function_call", "call_id": "c2", "name": "x", "arguments": "{}"});
        let done = json!({"type": "function_call_output", "call_id": "c2", "output": "ok"});
        let tools: Map<String, Value> = [("tools".to_owned(), json!([]))].into_iter().collect();
        let same_call = json!({"type": "function_call", "call_id": "c1"});
        let cases = [
            // The history was shortened.
            (vec![json!({"role": "user", "content": "a summary"})], Map::new()),
            // A call that the other side did not make.
            (vec![said.clone(), other, done.clone()], Map::new()),
            // Other tools.
            (vec![said.clone(), same_call.clone(), done], tools),
            // Nothing new.
            (vec![said.clone(), same_call], Map::new()),
        ];
        for (input, around) in cases {
            let message = frame(Some(heard(std::slice::from_ref(&said))), &input, &around);
            assert_eq!(message["input"], json!(input));
            assert!(message.get("previous_response_id").is_none(), "{message}");
        }
    }
}
