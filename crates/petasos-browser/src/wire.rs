//! The DevTools protocol: numbered calls and their answers, and events for whoever listens.
//!
//! Messages are JSON with a NUL between them on a pipe, or texts of a WebSocket. Answers are kept
//! as values: the protocol grows every month, and a field nobody knows must not break a call.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::wait::{self, Owned};
use petasos_net::websocket::{WebSocketReceiver, WebSocketSender};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::error::BrowserError;

/// Larger messages are dropped: a page may log a text as long as it likes.
pub(crate) const MESSAGE_BYTES_MAX: usize = 128 << 20;
const SEND_WAIT: Duration = Duration::from_secs(10);

/// A call that got no good answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    #[error("the browser is gone")]
    Gone,
    #[error("the browser did not answer `{0}` in time")]
    Timeout(String),
    #[error("{message}")]
    Refused { method: String, message: String },
}

impl From<WireError> for BrowserError {
    fn from(error: WireError) -> Self {
        match &error {
            WireError::Gone => Self::new(
                "crashed",
                "the browser process is gone; browser_navigate starts a new one",
            ),
            WireError::Timeout(_) => Self::new("timeout", error.to_string()),
            WireError::Refused { method, message } => {
                Self::new("upstream", format!("the browser refused {method}: {message}"))
            }
        }
    }
}

/// Who hears events. Called by the reading task: it must not wait.
pub(crate) trait Listener: Send + Sync {
    fn event(&self, session: Option<&str>, method: &str, params: &Value);
    fn gone(&self);
}

type Answer = Result<Value, WireError>;

/// One connection to a browser.
pub(crate) struct Wire {
    next: AtomicU64,
    pending: Mutex<HashMap<u64, (String, oneshot::Sender<Answer>)>>,
    out: mpsc::UnboundedSender<String>,
    gone: CancellationToken,
}

impl Wire {
    /// Speaks over a pipe.
    pub(crate) fn over_pipe(
        reader: impl AsyncRead + Send + Unpin + 'static,
        mut writer: impl AsyncWrite + Send + Unpin + 'static,
        listener: Arc<dyn Listener>,
    ) -> (Arc<Self>, Vec<Owned<()>>) {
        let (wire, mut queue) = Self::new();
        let writing = Owned::start(async move {
            while let Some(text) = queue.recv().await {
                let whole = [text.as_bytes(), &[0]].concat();
                if writer.write_all(&whole).await.is_err() || writer.flush().await.is_err() {
                    break;
                }
            }
        });
        let reading = Owned::start({
            let wire = Arc::clone(&wire);
            async move {
                let mut reader = BufReader::with_capacity(1 << 16, reader);
                while let Some(message) = next_message(&mut reader).await {
                    wire.hear(&message, &*listener);
                }
                wire.close(&*listener);
            }
        });
        (wire, vec![writing, reading])
    }

    /// Speaks over a WebSocket.
    pub(crate) fn over_websocket(
        (mut sender, mut receiver): (WebSocketSender, WebSocketReceiver),
        listener: Arc<dyn Listener>,
    ) -> (Arc<Self>, Vec<Owned<()>>) {
        let (wire, mut queue) = Self::new();
        let writing = Owned::start(async move {
            while let Some(text) = queue.recv().await {
                if sender.send(text, SEND_WAIT).await.is_err() {
                    break;
                }
            }
            sender.close().await;
        });
        let reading = Owned::start({
            let wire = Arc::clone(&wire);
            async move {
                while let Some(Ok(text)) = receiver.next().await {
                    wire.hear(text.as_bytes(), &*listener);
                }
                wire.close(&*listener);
            }
        });
        (wire, vec![writing, reading])
    }

    fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<String>) {
        let (out, queue) = mpsc::unbounded_channel();
        let wire = Self {
            next: AtomicU64::new(1),
            pending: Mutex::default(),
            out,
            gone: CancellationToken::new(),
        };
        (Arc::new(wire), queue)
    }

    /// Whether the browser can still be spoken to.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.is_cancelled()
    }

    /// Waits until the browser has gone, so long at most.
    pub(crate) async fn until_gone(&self, within: Duration) {
        let gone = self.gone.cancelled();
        if wait::until(Instant::now() + within, "the browser to end", gone).await.is_err() {
            tracing::debug!("the browser did not end by itself");
        }
    }

    /// Sends a call whose answer nobody waits for.
    pub(crate) fn post(&self, session: Option<&str>, method: &str, params: &Value) {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.write(id, session, method, params);
    }

    /// Sends a call and waits for its answer.
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
        within: Duration,
    ) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = oneshot::channel();
        self.pending.lock().insert(id, (method.to_owned(), sender));
        let _forget = Forget { wire: self, id };
        if self.is_gone() || !self.write(id, session, method, &params) {
            return Err(WireError::Gone);
        }
        match wait::until(Instant::now() + within, "the browser", receiver).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(WireError::Gone),
            Err(_) => Err(WireError::Timeout(method.to_owned())),
        }
    }

    fn write(&self, id: u64, session: Option<&str>, method: &str, params: &Value) -> bool {
        let mut message = json!({ "id": id, "method": method, "params": params });
        if let (Some(session), Some(object)) = (session, message.as_object_mut()) {
            object.insert("sessionId".to_owned(), session.into());
        }
        self.out.send(message.to_string()).is_ok()
    }

    fn hear(&self, bytes: &[u8], listener: &dyn Listener) {
        let Ok(message) = parse(bytes) else {
            tracing::warn!("a message of the browser is no JSON");
            return;
        };
        if let Some(id) = message.get("id").and_then(Value::as_u64) {
            let Some((method, sender)) = self.pending.lock().remove(&id) else { return };
            let answer = match message.get("error") {
                None => Ok(message.get("result").cloned().unwrap_or(Value::Null)),
                Some(error) => {
                    let text = error.get("message").and_then(Value::as_str).unwrap_or("no reason");
                    Err(WireError::Refused { method, message: text.to_owned() })
                }
            };
            if sender.send(answer).is_err() {
                tracing::debug!("an answer of the browser came too late");
            }
            return;
        }
        let session = message.get("sessionId").and_then(Value::as_str);
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            listener.event(session, method, message.get("params").unwrap_or(&Value::Null));
        }
    }

    /// Ends every call that waits on a session that is no more.
    pub(crate) fn close(&self, listener: &dyn Listener) {
        self.gone.cancel();
        let waiting = std::mem::take(&mut *self.pending.lock());
        drop(waiting);
        listener.gone();
    }
}

/// A lone half of a surrogate pair is valid in a page and in the protocol, and in no Rust text.
fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes).or_else(|_| {
        let text = String::from_utf8_lossy(bytes);
        serde_json::from_str(&without_lone_surrogates(&text))
    })
}

/// Replaces `\ud800`-like escapes that have no partner by the replacement character.
fn without_lone_surrogates(text: &str) -> String {
    let unit = |at: &str| -> Option<u32> {
        let digits = at.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, _)) = rest.split_once('\\') {
        clean.push_str(before);
        let at = rest.get(before.len()..).unwrap_or_default();
        let taken = match unit(at) {
            Some(0xd800..=0xdbff) => {
                let next = at.get(6..).and_then(unit);
                if matches!(next, Some(0xdc00..=0xdfff)) {
                    (12, None)
                } else {
                    (6, Some('\u{fffd}'))
                }
            }
            Some(0xdc00..=0xdfff) => (6, Some('\u{fffd}')),
            _ => (2, None),
        };
        let (length, instead) = taken;
        match instead {
            Some(mark) => clean.push(mark),
            None => clean.push_str(at.get(..length).unwrap_or(at)),
        }
        rest = at.get(length..).unwrap_or_default();
    }
    clean.push_str(rest);
    clean
}

/// A call that is dropped leaves nothing behind.
struct Forget<'a> {
    wire: &'a Wire,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.wire.pending.lock().remove(&self.id);
    }
}

/// The bytes up to the next NUL; `None` at the end.
async fn next_message(reader: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    let mut is_too_large = false;
    loop {
        let piece = reader.fill_buf().await.ok().filter(|piece| !piece.is_empty())?;
        let end = piece.iter().position(|byte| *byte == 0);
        let taken = piece.get(..end.unwrap_or(piece.len())).unwrap_or_default();
        is_too_large |= message.len() + taken.len() > MESSAGE_BYTES_MAX;
        if !is_too_large {
            message.extend_from_slice(taken);
        }
        let used = taken.len() + usize::from(end.is_some());
        reader.consume(used);
        match end {
            Some(_) if is_too_large => {
                tracing::warn!("a message of the browser was too large and is dropped");
                message.clear();
                is_too_large = false;
            }
            Some(_) => return Some(message),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_surrogate_does_not_break_a_message() {
        let message = br#"{"a":"x\ud83dy","b":"\ud83d\ude00","c":"\\ud83d"}"#;
        let value = parse(message).unwrap();
        assert_eq!(value, json!({ "a": "x\u{fffd}y", "b": "😀", "c": "\\ud83d" }));
    }

    #[tokio::test]
    async fn messages_are_cut_at_their_ends() {
        let bytes: &[u8] = b"{\"id\":1}\0{\"id\":2}\0rest";
        let mut reader = BufReader::with_capacity(4, bytes);
        assert_eq!(next_message(&mut reader).await.unwrap(), b"{\"id\":1}");
        assert_eq!(next_message(&mut reader).await.unwrap(), b"{\"id\":2}");
        assert_eq!(next_message(&mut reader).await, None);
    }
}
