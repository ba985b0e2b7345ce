//! `loopback`: a platform inside the process, for the gateway's own suites. Nothing configures it.
//!
//! It behaves like a server: what is sent can be read back with its order and tokens, and faults
//! are switched on from outside.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::BoxFuture;
use petasos_store::{CardButton, Lane};
use tokio::sync::{Notify, oneshot};

use crate::link::Link;
use crate::platform::{
    Arrival, LinkError, Outgoing, Platform, PlatformDef, Rates, Repeats, SendError,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "loopback",
    about: "a platform inside the process, for tests",
    toolset: "hermes-gateway",
    form: Form { dialect: Dialect::CommonMark, limit: 2000, unit: Unit::Utf16 },
    rates: Rates { account: Duration::ZERO, chat: Duration::ZERO, burst: 100 },
    repeats: Repeats::Dropped,
    buttons: true,
    edits: Some(Duration::from_millis(50)),
    media_bytes_max: 1_000_000,
    typing: Some(Duration::from_millis(200)),
    prefix: Some('!'),
    direct: true,
    tested_with: "itself",
    ..PlatformDef::USUAL
};

/// Whoever gives something waits so long for its acknowledgement.
const PATIENCE: Duration = Duration::from_mins(1);

/// A message that arrived at the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopbackMessage {
    /// Where.
    pub lane: Lane,
    /// Its text.
    pub text: String,
    /// Choices under it.
    pub buttons: Vec<CardButton>,
    /// Its name.
    pub name: String,
    /// Its token.
    pub token: String,
    /// The file that came with it.
    pub media: Option<String>,
}

struct Given {
    arrival: Arrival,
    taken: oneshot::Sender<bool>,
}

/// The server inside.
#[derive(Default)]
pub struct LoopbackServer {
    incoming: Mutex<VecDeque<Given>>,
    arrived: Notify,
    sent: Mutex<Vec<LoopbackMessage>>,
    tokens: Mutex<HashSet<String>>,
    faults: Mutex<VecDeque<SendError>>,
    edits: Mutex<Vec<(String, String)>>,
    edit_faults: Mutex<VecDeque<SendError>>,
    typing_faults: Mutex<usize>,
    words: Mutex<Vec<String>>,
    typed: Mutex<u64>,
    news: Notify,
}

impl std::fmt::Debug for LoopbackServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopbackServer").finish_non_exhaustive()
    }
}

impl LoopbackServer {
    /// A person does something; whether the gateway acknowledged it.
    pub async fn give(&self, arrival: Arrival) -> bool {
        let (taken, answer) = oneshot::channel();
        self.incoming.lock().push_back(Given { arrival, taken });
        self.arrived.notify_one();
        matches!(tokio::time::timeout(PATIENCE, answer).await, Ok(Ok(true)))
    }

    /// The next calls to send end like this.
    pub fn fail(&self, faults: impl IntoIterator<Item = SendError>) {
        self.faults.lock().extend(faults);
    }

    /// The next edits end like this.
    pub fn fail_edits(&self, faults: impl IntoIterator<Item = SendError>) {
        self.edit_faults.lock().extend(faults);
    }

    /// The next signs of writing fail, so many of them.
    pub fn fail_typing(&self, count: usize) {
        *self.typing_faults.lock() = count;
    }

    /// Everything that arrived.
    pub fn sent(&self) -> Vec<LoopbackMessage> {
        self.sent.lock().clone()
    }

    /// Edits: which message, and its new text.
    pub fn edits(&self) -> Vec<(String, String)> {
        self.edits.lock().clone()
    }

    /// What pressers of buttons were told.
    pub fn words(&self) -> Vec<String> {
        self.words.lock().clone()
    }

    /// How often the sign of writing was shown.
    pub fn typed(&self) -> u64 {
        *self.typed.lock()
    }

    /// Waits until something holds of what arrived.
    pub async fn until(&self, holds: impl Fn(&[LoopbackMessage]) -> bool) -> Vec<LoopbackMessage> {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            let sent = self.sent();
            if holds(&sent) {
                return sent;
            }
            news.await;
        }
    }

    /// The platform on this server, under this account.
    pub fn account(self: &Arc<Self>, name: &str) -> Arc<dyn Platform> {
        Arc::new(Loopback { name: name.to_owned(), server: Arc::clone(self) })
    }

    /// The facts of the platform.
    pub fn def() -> &'static PlatformDef {
        &PLATFORM
    }
}

struct Loopback {
    name: String,
    server: Arc<LoopbackServer>,
}

impl Platform for Loopback {
    fn account(&self) -> &str {
        &self.name
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            link.progress();
            loop {
                let next = self.server.incoming.lock().pop_front();
                let Some(Given { arrival, taken }) = next else {
                    self.server.arrived.notified().await;
                    continue;
                };
                link.room().await;
                let stored = link.take(arrival).await.is_ok();
                // Whoever gave it may no longer wait.
                if taken.send(stored).is_err() {
                    tracing::debug!("whoever gave something is gone");
                }
            }
        })
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let fault = self.server.faults.lock().pop_front();
            let arrives = fault.as_ref().is_none_or(|it| matches!(it, SendError::Ambiguous(_)));
            let name = format!("m{}", self.server.sent.lock().len() + 1);
            if arrives && self.server.tokens.lock().insert(message.token.to_owned()) {
                self.server.sent.lock().push(LoopbackMessage {
                    lane: message.lane.clone(),
                    text: message.text.to_owned(),
                    buttons: message.buttons.to_vec(),
                    name: name.clone(),
                    token: message.token.to_owned(),
                    media: message.media.map(|file| file.name.clone()),
                });
                self.server.news.notify_waiters();
            }
            fault.map_or(Ok(name), Err)
        })
    }

    fn edit<'a>(
        &'a self,
        _: &'a Lane,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        let fault = self.server.edit_faults.lock().pop_front();
        if fault.is_none() {
            self.server.edits.lock().push((message.to_owned(), text.to_owned()));
        }
        self.server.news.notify_waiters();
        Box::pin(std::future::ready(fault.map_or(Ok(()), Err)))
    }

    fn typing<'a>(&'a self, _: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        *self.server.typed.lock() += 1;
        let mut faults = self.server.typing_faults.lock();
        let failed = *faults > 0;
        *faults = faults.saturating_sub(1);
        drop(faults);
        self.server.news.notify_waiters();
        let fault = SendError::Transient("no sign of writing".to_owned());
        Box::pin(std::future::ready(if failed { Err(fault) } else { Ok(()) }))
    }

    fn acknowledge<'a>(&'a self, _: &'a str, word: &'a str) -> BoxFuture<'a, ()> {
        self.server.words.lock().push(word.to_owned());
        self.server.news.notify_waiters();
        Box::pin(async {})
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async { Ok(self.name.clone()) })
    }
}
