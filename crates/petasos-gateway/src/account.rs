//! One account of a platform: its state, its rates, and the task that keeps it connected.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::gateway::Shared;
use crate::link::Link;
use crate::options::PlatformOptions;
use crate::platform::{LinkError, Platform, PlatformDef, Rates, now_ms};
use crate::stage::Shown;

/// Pauses between tries to connect, in seconds; the last one is repeated.
const BACK_OFF: [u64; 8] = [1, 2, 5, 10, 30, 60, 120, 300];
/// A connection that held so long begins the pauses anew.
const STEADY: Duration = Duration::from_mins(1);

/// How an account is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "why", rename_all = "snake_case")]
pub enum AccountState {
    /// Not begun.
    Off,
    /// On its way.
    Connecting,
    /// Something was read.
    Connected,
    /// Connected, but not whole.
    Degraded(String),
    /// Tried again soon.
    Retrying(String),
    /// Not tried again until somebody changes something.
    Fatal(String),
    /// A person paused it.
    Paused,
}

/// One account.
pub struct Account {
    /// The facts of its platform.
    pub def: &'static PlatformDef,
    /// What speaks with it.
    pub platform: Arc<dyn Platform>,
    options: Mutex<Arc<PlatformOptions>>,
    state: Mutex<(AccountState, i64)>,
    pub(crate) changed: Notify,
    /// What a person wants of it: whether it rests, and news of that.
    rests: AtomicBool,
    wished: Notify,
    /// Something is to be sent.
    pub(crate) due: Notify,
    pacer: Mutex<Pacer>,
    reconnects: Mutex<u64>,
    /// Words on screens whose answers are on their way, by the token of the answer.
    pub(crate) shown: Arc<Mutex<HashMap<String, Shown>>>,
    /// Another one has taken its place, or it is gone: it sends nothing more.
    retired: AtomicBool,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Account").field(&self.name()).finish()
    }
}

impl AccountState {
    /// Its word.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Degraded(_) => "degraded",
            Self::Retrying(_) => "retrying",
            Self::Fatal(_) => "fatal",
            Self::Paused => "paused",
        }
    }
}

impl Account {
    pub(crate) fn new(
        def: &'static PlatformDef,
        platform: Arc<dyn Platform>,
        options: PlatformOptions,
        before: Option<&Self>,
    ) -> Arc<Self> {
        let rests = before.is_some_and(|before| before.rests.load(Ordering::Acquire));
        let shown = before.map(|before| Arc::clone(&before.shown));
        Arc::new(Self {
            def,
            platform,
            options: Mutex::new(Arc::new(options)),
            state: Mutex::new((AccountState::Off, now_ms())),
            changed: Notify::new(),
            rests: AtomicBool::new(rests),
            wished: Notify::new(),
            due: Notify::new(),
            pacer: Mutex::new(Pacer::new(def.rates)),
            reconnects: Mutex::new(0),
            shown: shown.unwrap_or_default(),
            retired: AtomicBool::new(false),
        })
    }

    /// It sends nothing more, but what is on its way.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
        self.due.notify_one();
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// Whether choices can be pressed here.
    pub(crate) fn has_buttons(&self) -> bool {
        self.platform.buttons().unwrap_or(self.def.buttons)
    }

    /// Platform and account.
    pub fn name(&self) -> String {
        format!("{}/{}", self.def.name, self.platform.account())
    }

    /// What is said about its platform.
    pub fn options(&self) -> Arc<PlatformOptions> {
        Arc::clone(&self.options.lock())
    }

    pub(crate) fn set_options(&self, options: PlatformOptions) {
        *self.options.lock() = Arc::new(options);
    }

    /// How it is, since when, and how often it was connected anew.
    pub fn state(&self) -> (AccountState, i64, u64) {
        let (state, since) = self.state.lock().clone();
        (state, since, *self.reconnects.lock())
    }

    pub(crate) fn set_state(&self, state: AccountState) {
        let mut now = self.state.lock();
        if now.0 == state {
            return;
        }
        match &state {
            AccountState::Fatal(why)
            | AccountState::Retrying(why)
            | AccountState::Degraded(why) => {
                warn!(account = self.name(), state = state.as_str(), why, "account");
            }
            _ => info!(account = self.name(), state = state.as_str(), "account"),
        }
        *now = (state, now_ms());
        drop(now);
        self.changed.notify_waiters();
        self.due.notify_one();
    }

    /// Whether messages can be sent now.
    pub(crate) fn takes_messages(&self) -> bool {
        matches!(
            self.state.lock().0,
            AccountState::Connected | AccountState::Degraded(_) | AccountState::Connecting
        )
    }

    /// When the next message of a chat may go.
    pub(crate) fn reserve(&self, chat: &str) -> Instant {
        self.pacer.lock().reserve(chat, Instant::now())
    }

    /// A person lets it rest, or wants it to go on: also when it had given up.
    pub(crate) fn set_rests(&self, rests: bool) {
        self.rests.store(rests, Ordering::Release);
        self.wished.notify_waiters();
    }

    /// Comes back when a person wants it to rest, or no longer.
    async fn until_rests(&self, rests: bool) {
        loop {
            let wished = self.wished.notified();
            tokio::pin!(wished);
            wished.as_mut().enable();
            if self.rests.load(Ordering::Acquire) == rests {
                return;
            }
            wished.await;
        }
    }

    /// Keeps the account connected, for ever.
    pub(crate) async fn keep_connected(self: Arc<Self>, shared: Arc<Shared>) {
        let mut failures = 0_usize;
        loop {
            if self.rests.load(Ordering::Acquire) {
                self.set_state(AccountState::Paused);
                self.until_rests(false).await;
                failures = 0;
            }
            self.set_state(AccountState::Connecting);
            let link = Link { shared: Arc::clone(&shared), account: Arc::clone(&self) };
            let begun = Instant::now();
            let ended = tokio::select! {
                ended = self.platform.run(&link) => ended,
                () = self.until_rests(true) => continue,
            };
            *self.reconnects.lock() += 1;
            let pause = match ended {
                Err(LinkError::Fatal(why)) => {
                    self.set_state(AccountState::Fatal(why));
                    shared.tell_operator(&self).await;
                    // Until a person says that it is repaired.
                    self.wished.notified().await;
                    continue;
                }
                Err(LinkError::Taken { reason, after }) => {
                    self.set_state(AccountState::Retrying(reason));
                    after
                }
                Err(LinkError::Lost(why)) => {
                    failures = if begun.elapsed() > STEADY { 1 } else { failures + 1 };
                    self.set_state(AccountState::Retrying(why));
                    back_off(failures)
                }
                Ok(()) => {
                    failures = if begun.elapsed() > STEADY { 1 } else { failures + 1 };
                    self.set_state(AccountState::Retrying("the connection ended".to_owned()));
                    back_off(failures)
                }
            };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.wished.notified() => {}
            }
        }
    }
}

/// The pause after so many failures, a fifth more or less.
fn back_off(failures: usize) -> Duration {
    let at = failures.saturating_sub(1).min(BACK_OFF.len() - 1);
    let seconds = BACK_OFF.get(at).copied().unwrap_or(300);
    jittered(Duration::from_secs(seconds))
}

/// A fifth more or less.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let mut byte = [128_u8];
    // Without randomness the pause is as it is.
    if getrandom::fill(&mut byte).is_err() {
        return pause;
    }
    let part = f64::from(byte[0]) / 255.0;
    pause.mul_f64(0.8 + 0.4 * part)
}

/// Spaces messages out, by account and by chat.
#[derive(Debug)]
struct Pacer {
    rates: Rates,
    account: Option<Instant>,
    chats: HashMap<String, Instant>,
}

impl Pacer {
    fn new(rates: Rates) -> Self {
        Self { rates, account: None, chats: HashMap::new() }
    }

    /// The theoretical arrival of the next message runs ahead of the clock by a burst at most.
    fn reserve(&mut self, chat: &str, now: Instant) -> Instant {
        const KEPT_MAX: usize = 4096;
        if self.chats.len() > KEPT_MAX {
            self.chats.retain(|_, at| *at > now);
        }
        let Rates { account, chat: pause, burst } = self.rates;
        let own = self.chats.get(chat).copied();
        let (chat_at, chat_next) = step(own, pause, burst, now);
        let (account_at, account_next) = step(self.account, account, burst, now);
        self.account = Some(account_next);
        self.chats.insert(chat.to_owned(), chat_next);
        chat_at.max(account_at)
    }
}

fn step(next: Option<Instant>, pause: Duration, burst: u32, now: Instant) -> (Instant, Instant) {
    let due = next.map_or(now, |next| next.max(now));
    let slack = pause * burst.saturating_sub(1);
    let at = due.checked_sub(slack).map_or(now, |at| at.max(now));
    (at, due + pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_at_once_and_the_rest_is_spaced_by_chat() {
        let rates = Rates { account: Duration::ZERO, chat: Duration::from_secs(1), burst: 3 };
        let (mut pacer, now) = (Pacer::new(rates), Instant::now());
        let waits: Vec<u64> =
            (0..6).map(|_| pacer.reserve("a", now).duration_since(now).as_secs()).collect();
        assert_eq!(waits, [0, 0, 0, 1, 2, 3]);
        assert_eq!(pacer.reserve("b", now), now, "another chat does not wait");
    }

    #[test]
    fn pauses_grow_and_stay() {
        for (failures, seconds) in [(1, 1), (2, 2), (4, 10), (8, 300), (99, 300)] {
            let pause = back_off(failures).as_secs_f64();
            assert!((0.79..1.21).contains(&(pause / f64::from(seconds))), "{failures}: {pause}");
        }
    }
}
