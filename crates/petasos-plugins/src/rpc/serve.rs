//! What comes from a plugin: answers go to who waits, requests are served beside each other.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_contract::wait::Owned;
use serde_json::{Value, json};
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, oneshot};

use super::lines::{LINE_MAX, Lines};
use super::{Connection, Message, RpcError};

/// How many requests of one plugin are served at once.
const SERVED_MAX: usize = 64;

/// Serves what a plugin asks for.
pub(crate) trait Server: Send + Sync {
    /// Answers a request, or says why not.
    fn serve(
        self: Arc<Self>,
        method: String,
        params: Value,
    ) -> BoxFuture<'static, Result<Value, String>>;
}

/// Somebody's `next`, asked for by a plugin.
#[derive(Debug)]
pub(crate) struct NextAsked {
    pub(crate) params: Value,
    pub(crate) answer: oneshot::Sender<Result<Value, String>>,
}

/// The frames of middleware that are open on this connection.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    open: Mutex<HashMap<u64, mpsc::Sender<NextAsked>>>,
    number: AtomicU64,
}

impl Frames {
    /// Opens a frame: its number, and where its `next` is asked for.
    pub(crate) fn open(&self) -> (u64, mpsc::Receiver<NextAsked>) {
        let number = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let (asked, asks) = mpsc::channel(4);
        self.open.lock().insert(number, asked);
        (number, asks)
    }

    /// The frame is over.
    pub(crate) fn shut(&self, number: u64) {
        self.open.lock().remove(&number);
    }

    pub(super) fn close(&self) {
        self.open.lock().clear();
    }

    async fn ask(&self, params: Value) -> Result<Value, String> {
        let number = params.get("frame").and_then(Value::as_u64).unwrap_or_default();
        let frame = self.open.lock().get(&number).cloned();
        let frame = frame.ok_or("this frame is over")?;
        let (answer, answered) = oneshot::channel();
        let asked = NextAsked { params, answer };
        frame.send(asked).await.map_err(|_| "this frame is over".to_owned())?;
        answered.await.map_err(|_| "this frame is over".to_owned())?
    }
}

/// Reads until the end; gives the reason for it.
pub(super) async fn read(
    from: impl AsyncRead + Unpin,
    connection: &Weak<Connection>,
    server: Arc<dyn Server>,
) -> String {
    let mut lines = Lines::new(from, LINE_MAX);
    let serving = Arc::new(AtomicUsize::new(0));
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => line,
            Ok(None) => return exit(connection).await,
            Err(error) => return error.to_string(),
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let message: Message = match serde_json::from_slice(&line) {
            Ok(message) => message,
            Err(error) => {
                let shown: String = String::from_utf8_lossy(&line).chars().take(120).collect();
                return format!("it wrote `{shown}`, which is no message: {error}");
            }
        };
        let Some(connection) = connection.upgrade() else { return "nobody listens".to_owned() };
        take(message, &connection, &server, &serving);
    }
}

async fn exit(connection: &Weak<Connection>) -> String {
    let Some(connection) = connection.upgrade() else { return "nobody listens".to_owned() };
    let late = std::time::Instant::now() + std::time::Duration::from_secs(2);
    let exited = connection.hand().exited();
    match petasos_contract::wait::until(late, "a plugin to end", exited).await {
        Ok(Ok(ending)) => format!("exit code {}", ending.code()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it closed its output".to_owned(),
    }
}

fn take(
    message: Message,
    connection: &Arc<Connection>,
    server: &Arc<dyn Server>,
    serving: &Arc<AtomicUsize>,
) {
    let Some(method) = message.method else {
        let Some(id) = message.id.as_ref().and_then(Value::as_u64) else { return };
        let answer = match message.error {
            None => Ok(message.result),
            Some(fault) => Err(RpcError::Remote {
                kind: fault
                    .data
                    .get("type")
                    .and_then(Value::as_str)
                    .unwrap_or("PluginError")
                    .into(),
                message: fault.message,
            }),
        };
        connection.answer(id, answer);
        return;
    };
    if serving.fetch_add(1, Ordering::Relaxed) >= SERVED_MAX {
        serving.fetch_sub(1, Ordering::Relaxed);
        if let Some(id) = message.id {
            connection.tell_answer(&id, Err(format!("more than {SERVED_MAX} requests at once")));
        }
        return;
    }
    let (server, serving) = (Arc::clone(server), Arc::clone(serving));
    let weak = Arc::downgrade(connection);
    connection.own(Owned::start(async move {
        let answer = match weak.upgrade() {
            Some(connection) if method == "middleware.next" => {
                connection.frames.ask(message.params).await
            }
            _ => server.serve(method, message.params).await,
        };
        serving.fetch_sub(1, Ordering::Relaxed);
        if let (Some(id), Some(connection)) = (message.id, weak.upgrade()) {
            connection.reply(&id, answer).await;
        }
    }));
}

impl Connection {
    async fn reply(&self, id: &Value, answer: Result<Value, String>) {
        if self.say(&reply(id, answer)).await.is_err() {
            tracing::debug!("a plugin went away before it was answered");
        }
    }

    fn tell_answer(&self, id: &Value, answer: Result<Value, String>) {
        let mut line = reply(id, answer).to_string().into_bytes();
        line.push(b'\n');
        if self.outgoing.try_send(line).is_err() {
            tracing::debug!("a plugin does not read its answers");
        }
    }
}

fn reply(id: &Value, answer: Result<Value, String>) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(message) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": message } })
        }
    }
}
