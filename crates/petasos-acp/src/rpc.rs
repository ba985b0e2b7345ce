//! JSON-RPC in both directions: what a frame is, and a peer that is asked and told things.
//!
//! A request whose asker gives up is cancelled at the other side (`$/cancel_request`). Nothing here
//! knows what a method means.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use agent_client_protocol_schema::v1::{Error, RequestId};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::wire::FRAME_MAX;

/// The notification that withdraws a request.
pub(crate) const CANCEL: &str = "$/cancel_request";

/// What a line is.
#[derive(Debug)]
pub(crate) enum Frame {
    /// Something is asked.
    Request { id: RequestId, method: String, params: Value },
    /// Something is told.
    Notification { method: String, params: Value },
    /// Something that we asked is answered.
    Response { id: RequestId, result: Result<Value, Error> },
    /// It is none of these; the error is for whoever sent it.
    Invalid { id: RequestId, error: Error },
}

impl Frame {
    /// Reads a line.
    pub(crate) fn read(line: &[u8]) -> Self {
        let invalid = |id, error: Error| Self::Invalid { id, error };
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => {
                return invalid(RequestId::Null, told(Error::parse_error(), &error.to_string()));
            }
        };
        let mut object = match value {
            Value::Object(object) => object,
            Value::Array(_) => {
                let why = "batches are not taken: send one message a line";
                return invalid(RequestId::Null, told(Error::invalid_request(), why));
            }
            _ => {
                let why = "a message is a JSON object";
                return invalid(RequestId::Null, told(Error::invalid_request(), why));
            }
        };
        let id = match object.get("id").map(identity) {
            None => None,
            Some(Some(id)) => Some(id),
            Some(None) => {
                let why = "`id` must be a whole number, text or null";
                return invalid(RequestId::Null, told(Error::invalid_request(), why));
            }
        };
        let named = || id.clone().unwrap_or(RequestId::Null);
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            let why = "`jsonrpc` must be \"2.0\"";
            return invalid(named(), told(Error::invalid_request(), why));
        }
        match object.remove("method") {
            Some(Value::String(method)) => {
                let params = object.remove("params").unwrap_or(Value::Null);
                match id {
                    Some(id) => Self::Request { id, method, params },
                    None => Self::Notification { method, params },
                }
            }
            Some(_) => invalid(named(), told(Error::invalid_request(), "`method` must be text")),
            None => response(id, object),
        }
    }
}

fn response(id: Option<RequestId>, mut object: Map<String, Value>) -> Frame {
    let error = object.remove("error").filter(|error| !error.is_null());
    let result = object.remove("result");
    match (id, error, result) {
        (Some(id), Some(error), _) => {
            let error = serde_json::from_value(error.clone())
                .unwrap_or_else(|_| told(Error::internal_error(), &error.to_string()));
            Frame::Response { id, result: Err(error) }
        }
        (Some(id), None, Some(result)) => Frame::Response { id, result: Ok(result) },
        (id, ..) => {
            let why = "a message has a `method`, a `result` or an `error`";
            let id = id.unwrap_or(RequestId::Null);
            Frame::Invalid { id, error: told(Error::invalid_request(), why) }
        }
    }
}

fn identity(id: &Value) -> Option<RequestId> {
    match id {
        Value::Null => Some(RequestId::Null),
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::String(text) => Some(RequestId::Str(text.clone())),
        _ => None,
    }
}

/// An error with its own words beside the usual ones.
pub(crate) fn told(error: Error, why: &str) -> Error {
    let message = format!("{}: {why}", error.message);
    let mut error = error;
    error.message = message;
    error
}

/// Why the other side did not do it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PeerError {
    /// It said so.
    #[error("{}", .0.message)]
    Refused(Box<Error>),
    /// It did not answer in time.
    #[error("no answer to `{method}` within {} s", .after.as_secs())]
    Silent {
        /// What was asked.
        method: &'static str,
        /// How long it was waited for.
        after: Duration,
    },
    /// It was not asked: the question is too long.
    #[error("`{method}` is longer than a message may be")]
    TooLong {
        /// What was to be asked.
        method: &'static str,
    },
    /// It is gone.
    #[error("the other side of the connection is gone")]
    Gone,
    /// It answered something else.
    #[error("the answer to `{method}` cannot be read: {why}")]
    Unreadable {
        /// What was asked.
        method: &'static str,
        /// What is wrong with the answer.
        why: String,
    },
}

type Reply = oneshot::Sender<Result<Value, Error>>;

/// The other side of a connection.
#[derive(Debug)]
pub struct Peer {
    out: mpsc::Sender<String>,
    waiting: Mutex<HashMap<i64, Reply>>,
    next: AtomicI64,
    gone: CancellationToken,
}

impl Peer {
    pub(crate) fn new(out: mpsc::Sender<String>) -> Arc<Self> {
        let (waiting, next) = (Mutex::default(), AtomicI64::new(1));
        Arc::new(Self { out, waiting, next, gone: CancellationToken::new() })
    }

    /// Cancelled when the connection is closed.
    pub fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// Whoever waits for an answer hears that there will be none.
    pub(crate) fn close(&self) {
        self.gone.cancel();
        self.waiting.lock().clear();
    }

    /// Tells something; `false` when it is longer than a message may be, and was not told.
    pub(crate) async fn notify(&self, method: &str, params: &impl Serialize) -> bool {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    /// Answers something.
    pub(crate) async fn respond(&self, id: &RequestId, result: Result<Value, Error>) {
        if !self.send(answer(id, result)).await {
            let error = told(Error::internal_error(), "the answer is longer than a message may be");
            self.send(answer(id, Err(error))).await;
        }
    }

    /// Hands an answer to whoever asked; nothing when nobody did.
    pub(crate) fn answered(&self, id: &RequestId, result: Result<Value, Error>) {
        let waiting = match id {
            RequestId::Number(number) => self.waiting.lock().remove(number),
            _ => None,
        };
        if let Some(reply) = waiting {
            // Whoever asked may have given up.
            drop(reply.send(result));
        } else {
            tracing::debug!(?id, "an answer to nothing that was asked");
        }
    }

    /// Asks something, and waits no longer than this.
    pub(crate) async fn request<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &impl Serialize,
        within: Duration,
    ) -> Result<R, PeerError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        self.waiting.lock().insert(id, reply);
        let mut asked = Asked { peer: self, id, open: true };
        let frame = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        if !self.send(frame).await {
            asked.open = false;
            self.waiting.lock().remove(&id);
            return Err(PeerError::TooLong { method });
        }
        let answered = tokio::select! {
            () = self.gone.cancelled() => return Err(PeerError::Gone),
            answered = tokio::time::timeout(within, answer) => answered,
        };
        let Ok(answered) = answered else {
            return Err(PeerError::Silent { method, after: within });
        };
        asked.open = false;
        let value = answered.map_err(|_| PeerError::Gone)?;
        let value = value.map_err(|error| PeerError::Refused(Box::new(error)))?;
        // Some clients answer `null` where an empty object is meant.
        let value = if value.is_null() { json!({}) } else { value };
        serde_json::from_value(value)
            .map_err(|error| PeerError::Unreadable { method, why: error.to_string() })
    }

    /// Asks something whose answer nobody waits for, from where nothing can be waited for.
    pub(crate) fn cast(&self, method: &str, params: &impl Serialize) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.try_send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    /// Tells something, from where nothing can be waited for.
    pub(crate) fn tell(&self, method: &str, params: &impl Serialize) {
        self.try_send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn try_send(&self, message: &Value) {
        if self.out.try_send(message.to_string()).is_err() {
            tracing::debug!("the other side takes nothing more");
        }
    }

    /// Sends a message; `false` when it is over the limit of a frame, and was not sent.
    async fn send(&self, message: Value) -> bool {
        let line = message.to_string();
        if line.len() > FRAME_MAX {
            tracing::warn!(bytes = line.len(), "a message over the limit of a frame is not sent");
            return false;
        }
        tokio::select! {
            biased;
            () = self.gone.cancelled() => {}
            sent = self.out.send(line) => {
                if sent.is_err() {
                    self.close();
                }
            }
        }
        true
    }
}

fn answer(id: &RequestId, result: Result<Value, Error>) -> Value {
    match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error }),
    }
}

/// A request that is withdrawn when its asker gives up.
struct Asked<'a> {
    peer: &'a Peer,
    id: i64,
    open: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        self.peer.waiting.lock().remove(&self.id);
        self.peer.tell(CANCEL, &json!({ "requestId": self.id }));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whatever JSON there is, to a depth that matters.
    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
            Just(Value::from("2.0")),
            Just(Value::from("session/prompt")),
        ];
        let key = prop_oneof![
            Just("jsonrpc".to_owned()),
            Just("id".to_owned()),
            Just("method".to_owned()),
            Just("params".to_owned()),
            Just("result".to_owned()),
            Just("error".to_owned()),
            ".{0,6}",
        ];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((key.clone(), inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    /// What is too long for a frame is told at once, not waited for.
    #[tokio::test]
    async fn what_is_too_long_is_told_to_whoever_sent_it() {
        let (out, mut sent) = mpsc::channel(4);
        let peer = Peer::new(out);
        let long = json!({ "text": "x".repeat(FRAME_MAX) });
        let asked: Result<Value, _> = peer.request("a/b", &long, Duration::from_mins(1)).await;
        assert!(matches!(asked, Err(PeerError::TooLong { method: "a/b" })), "{asked:?}");
        peer.respond(&RequestId::Number(7), Ok(long)).await;
        let answer: Value = serde_json::from_str(&sent.recv().await.unwrap()).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32603)));
        assert!(sent.try_recv().is_err(), "nothing else was sent");
    }

    proptest! {
        /// What is no frame gets an error with words, and nothing panics.
        #[test]
        fn whatever_arrives_is_read(value in json(), cut in 0_usize..200, noise in any::<Vec<u8>>()) {
            let text = value.to_string().into_bytes();
            let half = text.get(..cut.min(text.len())).unwrap_or_default().to_vec();
            for line in [text, half, noise] {
                if let Frame::Invalid { error, .. } = Frame::read(&line) {
                    prop_assert!(!error.message.is_empty());
                }
            }
        }
    }
}
