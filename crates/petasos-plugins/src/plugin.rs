//! One plugin: a process of its own that is started when it is needed, watched, and started again
//! with a growing pause when it dies.
//!
//! What it registered stays while it is down, so that the list of tools is stable; a call then
//! says what happened and when it is tried again. A plugin that keeps failing is given up.

mod facade;
mod frames;
mod heed;
mod log;
mod registered;
mod start;
mod tool;
mod verbs;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use petasos_contract::CallContext;
use petasos_contract::hook::HookKind;
use petasos_runtime::registry::Origin;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;

pub use log::Log;
pub use registered::{CommandInfo, Registered, SkillInfo};

use crate::discover::entry;
use crate::manifest::{Manifest, Source};
use crate::payload::platform;
use crate::plugins::Surroundings;
use crate::rpc::{Connection, RpcError};

/// How long a tool of a plugin may take when nobody says otherwise.
const CALL_DEADLINE: Duration = Duration::from_mins(5);
/// After so many calls in a row that were not answered it is ended and started again.
const LATE_MAX: u32 = 3;

/// How a plugin is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Not started yet.
    Idle,
    /// It is being started.
    Starting,
    /// It answers.
    Ready,
    /// It ended and is started again when it is needed.
    Down {
        /// Why it ended.
        reason: String,
    },
    /// It is not started any more.
    Failed {
        /// Why.
        reason: String,
    },
}

/// One plugin.
pub struct Plugin {
    manifest: Manifest,
    host: Arc<Surroundings>,
    origin: Origin,
    log: Log,
    state: Mutex<State>,
    /// Whether the first start is over.
    settled: watch::Sender<bool>,
    live: ArcSwapOption<Connection>,
    starting: tokio::sync::Mutex<start::Attempts>,
    /// Where its tasks live, whoever needs it first.
    runtime: tokio::runtime::Handle,
    pub(crate) registered: Mutex<Registered>,
    calls: Mutex<HashMap<String, CallContext>>,
    number: AtomicU64,
    late: AtomicU32,
}

impl Plugin {
    /// A plugin that has not been started; its tasks will live on the current runtime.
    pub fn new(manifest: Manifest, host: Arc<Surroundings>) -> Arc<Self> {
        let origin = match manifest.source {
            Source::Bundled => Origin::bundled_plugin(&manifest.key),
            Source::User | Source::Project | Source::Package => {
                Origin::plugin(&manifest.key, &host.settings)
            }
        };
        let log = Log::of(&manifest.key, &host.settings);
        Arc::new(Self {
            manifest,
            host,
            origin,
            log,
            state: Mutex::new(State::Idle),
            settled: watch::Sender::new(false),
            live: ArcSwapOption::empty(),
            starting: tokio::sync::Mutex::default(),
            runtime: tokio::runtime::Handle::current(),
            registered: Mutex::default(),
            calls: Mutex::default(),
            number: AtomicU64::new(0),
            late: AtomicU32::new(0),
        })
    }

    /// What it says about itself.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How it is now.
    pub fn state(&self) -> State {
        if let Some(connection) = self.live.load_full()
            && let Some(reason) = connection.ended()
        {
            return State::Down { reason };
        }
        self.state.lock().clone()
    }

    /// Turns true when the first start is over.
    pub(crate) fn settled(&self) -> watch::Receiver<bool> {
        self.settled.subscribe()
    }

    /// What is wrong with it, what that means and what to do, when it does not run.
    pub fn trouble(&self) -> Option<String> {
        let key = &self.manifest.key;
        let why = match self.state() {
            State::Ready | State::Idle => return None,
            State::Starting => "is still starting".to_owned(),
            State::Down { reason } => format!("does not run: {reason}"),
            State::Failed { reason } => format!("is given up: {reason}"),
        };
        let guards = self.registered().wanted.has(HookKind::PreToolCall);
        let lets_pass = self.setting("on_failure").and_then(Value::as_str) == Some("allow");
        let means = if guards && !lets_pass { "; calls of tools wait for it" } else { "" };
        Some(format!("plugin `{key}` {why}{means} (`petasos plugins test {key}`)"))
    }

    /// What it brought.
    pub fn registered(&self) -> Registered {
        self.registered.lock().clone()
    }

    /// What hooks and middleware of it are called.
    pub(crate) fn name(&self) -> String {
        format!("plugin:{}", self.manifest.key)
    }

    fn setting(&self, name: &str) -> Option<&Value> {
        entry(&self.host.settings, &self.manifest.key, name)
    }

    fn seconds(&self, name: &str) -> Option<Duration> {
        let seconds = self.setting(name).and_then(Value::as_f64);
        seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }

    /// How long it may take for an answer of its own.
    fn patience(&self) -> Duration {
        self.seconds("timeout").unwrap_or(CALL_DEADLINE)
    }

    /// How long it may take at a moment.
    fn hook_patience(&self, kind: HookKind) -> Duration {
        self.seconds("hook_timeout").unwrap_or(kind.deadline())
    }

    /// Asks within a call.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        method: &str,
        params: Value,
        cx: &CallContext,
    ) -> Result<Value, RpcError> {
        let deadline = cx.deadline.min(Instant::now() + self.patience());
        self.ask_until(deadline, method, params, cx).await
    }

    /// Asks until a deadline; the verbs that it uses meanwhile belong to the call.
    async fn ask_until(
        self: &Arc<Self>,
        deadline: Instant,
        method: &str,
        mut params: Value,
        cx: &CallContext,
    ) -> Result<Value, RpcError> {
        let connection = self.connection().await.map_err(RpcError::Gone)?;
        let token = format!("call-{}", self.number.fetch_add(1, Ordering::Relaxed) + 1);
        self.calls.lock().insert(token.clone(), cx.clone());
        let _over = Over { plugin: self, token: token.clone() };
        if let Some(object) = params.as_object_mut() {
            object.insert("context".to_owned(), surroundings(&token, cx));
        }
        let answer = connection.request(method, &params, deadline).await;
        self.judge(&connection, &answer).await;
        answer
    }

    /// A plugin that does not answer several times in a row hangs: it is ended, and started again
    /// when it is needed.
    async fn judge(&self, connection: &Connection, answer: &Result<Value, RpcError>) {
        if !matches!(answer, Err(RpcError::Late(_))) {
            self.late.store(0, Ordering::Relaxed);
            return;
        }
        if self.late.fetch_add(1, Ordering::Relaxed) + 1 >= LATE_MAX {
            self.late.store(0, Ordering::Relaxed);
            connection.end("it did not answer several times in a row").await;
        }
    }

    /// The surroundings of a call that is under way.
    fn call(&self, token: &str) -> Option<CallContext> {
        self.calls.lock().get(token).cloned()
    }

    /// Ends it and removes all that it registered.
    pub async fn stop(&self) {
        if let Some(connection) = self.live.swap(None) {
            let soon = Instant::now() + Duration::from_secs(2);
            if let Err(error) = connection.request("shutdown", &json!({}), soon).await {
                tracing::debug!(%error, plugin = self.manifest.key, "it did not say good-bye");
            }
            connection.end("it was stopped").await;
        }
        *self.state.lock() = State::Idle;
        self.withdraw();
    }

    /// Starts it anew; what the old one registered and the new one does not is removed.
    pub async fn reload(self: &Arc<Self>) -> Result<(), String> {
        if let Some(connection) = self.live.swap(None) {
            connection.end("it is loaded anew").await;
        }
        *self.starting.lock().await = start::Attempts::default();
        self.connection().await.map(drop)
    }
}

impl std::fmt::Debug for Plugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plugin")
            .field("key", &self.manifest.key)
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

/// Forgets a call when it is over, however it ended.
struct Over<'a> {
    plugin: &'a Plugin,
    token: String,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.plugin.calls.lock().remove(&self.token);
    }
}

fn surroundings(token: &str, cx: &CallContext) -> Value {
    json!({
        "token": token,
        "session_id": cx.session,
        "task_id": cx.task,
        "turn_id": cx.turn,
        "tool_call_id": cx.call,
        "platform": platform(cx.surface),
        "cwd": cx.workspace.display().to_string(),
    })
}
