//! The pipe to one plugin: JSON-RPC 2.0, one message a line, both ways at once.
//!
//! A peer that floods, sends what is no message or goes away ends the connection with a reason;
//! everyone who waits is told it. Nothing that a peer sends grows without bound.

mod lines;
mod serve;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::processes::{Helper, HelperHand};
use petasos_contract::wait::{self, Owned};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::{mpsc, oneshot};

pub(crate) use serve::{Frames, NextAsked, Server};

/// Messages that may wait to be written.
const OUTGOING_MAX: usize = 256;
/// How long a tree may take to end.
const GRACE: Duration = Duration::from_millis(500);

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RpcError {
    /// The plugin is gone.
    #[error("it ended: {0}")]
    Gone(String),
    /// It took too long.
    #[error("it did not answer `{0}` in time")]
    Late(String),
    /// It answered with an error.
    #[error("{kind}: {message}")]
    Remote {
        /// The type name that it gave.
        kind: String,
        /// What it said.
        message: String,
    },
}

type Waiting = HashMap<u64, oneshot::Sender<Result<Value, RpcError>>>;

/// A connection.
pub(crate) struct Connection {
    hand: Arc<dyn HelperHand>,
    outgoing: mpsc::Sender<Vec<u8>>,
    waiting: Mutex<Waiting>,
    number: AtomicU64,
    ended: Mutex<Option<String>>,
    pub(crate) frames: Frames,
    tasks: Mutex<Vec<Owned<()>>>,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error: Option<Fault>,
}

#[derive(Debug, Deserialize)]
struct Fault {
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Value,
}

impl Connection {
    /// Opens it over a started program. Error output goes to the log.
    pub(crate) fn open(
        helper: Helper,
        server: Arc<dyn Server>,
        log: crate::plugin::Log,
    ) -> Arc<Self> {
        let (outgoing, mut to_write) = mpsc::channel::<Vec<u8>>(OUTGOING_MAX);
        let Helper { mut stdin, stdout, stderr, hand } = helper;
        let connection = Arc::new(Self {
            hand,
            outgoing,
            waiting: Mutex::default(),
            number: AtomicU64::new(0),
            ended: Mutex::new(None),
            frames: Frames::default(),
            tasks: Mutex::default(),
        });
        let write = Owned::start(async move {
            while let Some(line) = to_write.recv().await {
                if stdin.write_all(&line).await.is_err() {
                    // The reader learns why it is gone.
                    break;
                }
            }
        });
        let reader = Arc::downgrade(&connection);
        let read = Owned::start(async move {
            let why = serve::read(stdout, &reader, server).await;
            if let Some(connection) = reader.upgrade() {
                connection.end(&why).await;
            }
        });
        let listen = Owned::start(lines::log(stderr, log));
        connection.tasks.lock().extend([write, read, listen]);
        connection
    }

    /// Keeps a task as long as the connection.
    pub(crate) fn own(&self, task: Owned<()>) {
        let mut tasks = self.tasks.lock();
        tasks.retain(|task| !task.is_finished());
        tasks.push(task);
    }

    /// Why it ended, once it has.
    pub(crate) fn ended(&self) -> Option<String> {
        self.ended.lock().clone()
    }

    /// The process.
    pub(crate) fn hand(&self) -> &Arc<dyn HelperHand> {
        &self.hand
    }

    /// Asks, and waits for the answer until the deadline. A wait that is given up is told.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &Value,
        deadline: Instant,
    ) -> Result<Value, RpcError> {
        let id = self.number.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        self.waiting.lock().insert(id, answer);
        let _forgotten = Forget { connection: self, id };
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let exchange = async {
            self.say(&message).await?;
            answered.await.unwrap_or_else(|_| Err(self.gone()))
        };
        let answer = wait::until(deadline, "a plugin", exchange).await;
        answer.unwrap_or_else(|_| Err(RpcError::Late(method.to_owned())))
    }

    /// Tells, without an answer.
    pub(crate) fn tell(&self, method: &str, params: &Value) {
        let mut line = json!({ "jsonrpc": "2.0", "method": method, "params": params })
            .to_string()
            .into_bytes();
        line.push(b'\n');
        // A full pipe means that it does not listen; a note is not worth waiting for.
        if self.outgoing.try_send(line).is_err() {
            tracing::debug!(method, "a plugin was not told");
        }
    }

    async fn say(&self, message: &Value) -> Result<(), RpcError> {
        if self.ended.lock().is_some() {
            return Err(self.gone());
        }
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.outgoing.send(line).await.map_err(|_| self.gone())
    }

    fn gone(&self) -> RpcError {
        RpcError::Gone(self.ended().unwrap_or_else(|| "its input is closed".to_owned()))
    }

    fn answer(&self, id: u64, answer: Result<Value, RpcError>) {
        if let Some(waiting) = self.waiting.lock().remove(&id) {
            // Whoever asked may have gone.
            drop(waiting.send(answer));
        }
    }

    /// Ends it for a reason: the tree goes, and everyone who waits is told.
    pub(crate) async fn end(&self, why: &str) {
        self.ended.lock().get_or_insert_with(|| why.to_owned());
        let waiting = std::mem::take(&mut *self.waiting.lock());
        for (_, answer) in waiting {
            drop(answer.send(Err(self.gone())));
        }
        self.frames.close();
        if let Err(error) = self.hand.kill(GRACE).await {
            tracing::warn!(%error, "a plugin's process may still run");
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("pid", &self.hand.pid()).finish_non_exhaustive()
    }
}

/// Forgets a request that nobody waits for any more, and says so.
struct Forget<'a> {
    connection: &'a Connection,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if self.connection.waiting.lock().remove(&self.id).is_some() {
            self.connection.tell("$/cancel", &json!({ "id": self.id }));
        }
    }
}
