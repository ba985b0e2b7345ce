//! Starting a plugin: the program, the greeting during which it registers, and what follows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::processes::{HelperHand, HelperSandbox, HelperSpec};
use petasos_contract::wait::{self, Owned};
use serde_json::{Value, json};

use super::verbs::Session;
use super::{Plugin, State};
use crate::manifest::Source;
use crate::python;
use crate::rpc::{Connection, RpcError};

/// How long a start may take when nobody says otherwise.
const START_DEADLINE: Duration = Duration::from_secs(15);
/// A plugin that lived so long begins its pauses anew.
const STEADY: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_mins(1);
/// After so many failures in a row it is given up.
const FAILURES_MAX: u32 = 6;
/// How often its memory is looked at, and how much it may have.
const LOOK: Duration = Duration::from_secs(2);
const MEMORY_MIB: u64 = 1024;
/// The version of the protocol.
pub(crate) const PROTOCOL: u32 = 1;

/// How starting went so far.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    failures: u32,
    not_before: Option<Instant>,
    began: Option<Instant>,
}

impl Plugin {
    /// The connection, started when there is none and it is time.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, String> {
        if let Some(connection) = self.living() {
            return Ok(connection);
        }
        let mut attempts = self.starting.lock().await;
        if let Some(connection) = self.living() {
            return Ok(connection);
        }
        if let Some(reason) = self.live.swap(None).and_then(|gone| gone.ended()) {
            attempts.note_failure();
            self.log.line(&format!("[petasos] it ended: {reason}"));
            *self.state.lock() = State::Down { reason };
        }
        attempts.may_start(&self.state.lock().clone())?;
        attempts.began = Some(Instant::now());
        *self.state.lock() = State::Starting;
        let started = self.start_at_home().await;
        let outcome = match started {
            Ok(connection) => {
                self.live.store(Some(Arc::clone(&connection)));
                *self.state.lock() = State::Ready;
                Ok(connection)
            }
            Err(reason) => {
                attempts.note_failure();
                self.log.line(&format!("[petasos] it was not started: {reason}"));
                let given_up = attempts.failures >= FAILURES_MAX;
                let state = if given_up {
                    State::Failed { reason: reason.clone() }
                } else {
                    State::Down { reason: reason.clone() }
                };
                *self.state.lock() = state;
                Err(reason)
            }
        };
        self.settled.send_replace(true);
        outcome
    }

    fn living(&self) -> Option<Arc<Connection>> {
        self.live.load_full().filter(|connection| connection.ended().is_none())
    }

    /// Starts on the runtime of the plugins: a call from another one must not take it along when
    /// that one ends.
    async fn start_at_home(self: &Arc<Self>) -> Result<Arc<Connection>, String> {
        let plugin = Arc::clone(self);
        let task = {
            let _home = self.runtime.enter();
            Owned::start(async move { plugin.start().await })
        };
        task.join().await.unwrap_or_else(|| Err("its start was broken off".to_owned()))
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<Connection>, String> {
        let spec = self.spec()?;
        let helper = self.host.processes.start(spec).await.map_err(|error| error.to_string())?;
        let session = Arc::new(Session::new(self));
        let connection = Connection::open(helper, Arc::clone(&session) as _, self.log.clone());
        let seconds = self.setting("start_timeout").and_then(Value::as_f64);
        let patience = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let deadline = Instant::now() + patience.unwrap_or(START_DEADLINE);
        let greeted = connection.request("initialize", &self.greeting(), deadline).await;
        let started = self.greeted(greeted, &session, connection).await;
        if started.is_err() {
            session.abandon();
        }
        started
    }

    /// What follows the answer to the greeting.
    async fn greeted(
        self: &Arc<Self>,
        greeted: Result<Value, RpcError>,
        session: &Session,
        connection: Arc<Connection>,
    ) -> Result<Arc<Connection>, String> {
        match greeted {
            Ok(answer) if answer.get("protocol_version").is_none_or(|v| *v == json!(PROTOCOL)) => {
                session.settle();
                connection.own(watch(
                    Arc::clone(connection.hand()),
                    &connection,
                    self.memory_max(),
                ));
                Ok(connection)
            }
            Ok(answer) => {
                let theirs = answer.get("protocol_version").cloned().unwrap_or_default();
                let why = format!("it speaks protocol {theirs}, and this program {PROTOCOL}");
                connection.end(&why).await;
                Err(why)
            }
            Err(error) => {
                connection.end(&error.to_string()).await;
                Err(error.to_string())
            }
        }
    }

    fn spec(&self) -> Result<HelperSpec, String> {
        let manifest = &self.manifest;
        let argv = match &manifest.command {
            Some(command) => command.clone(),
            None if manifest.module.is_some() || manifest.folder.join("__init__.py").is_file() => {
                python::argv(&self.host.settings, &manifest.key, &manifest.folder)
            }
            None => {
                return Err("it has neither a `command` nor an `__init__.py` with `register(ctx)`"
                    .to_owned());
            }
        };
        let mut spec =
            HelperSpec::new(format!("plugin `{}`", manifest.key), argv, &self.host.settings);
        if !manifest.folder.as_os_str().is_empty() {
            spec.cwd.clone_from(&manifest.folder);
        }
        // One plugin serves attended sessions and others: what a person chose holds for all.
        let off = [json!(false), json!("off")];
        if !self.setting("sandbox").is_some_and(|set| off.contains(set)) {
            spec.sandbox = HelperSandbox::LikeCommands { attended: true };
        }
        let home = self.host.settings.home().display().to_string();
        spec.env = BTreeMap::from([
            ("PETASOS_HOME".to_owned(), home.clone()),
            ("HERMES_HOME".to_owned(), home),
            ("PYTHONUNBUFFERED".to_owned(), "1".to_owned()),
        ]);
        // Enabling a plugin of one's own grants what it says it needs; one that came with a
        // project gets only what the user's configuration names.
        if manifest.source != Source::Project {
            spec.grants.clone_from(&manifest.requires_env);
        }
        let named = self.setting("env").and_then(Value::as_array);
        let named = named.into_iter().flatten().filter_map(Value::as_str);
        spec.grants.extend(named.map(str::to_owned));
        Ok(spec)
    }

    /// What the configuration says about this plugin.
    fn entry(&self) -> Value {
        let entries = self.host.settings.get("plugins.entries");
        let own = entries.and_then(|entries| entries.get(&self.manifest.key));
        own.cloned().unwrap_or_else(|| json!({}))
    }

    fn greeting(&self) -> Value {
        let settings = self.setting("settings").or_else(|| self.setting("config"));
        json!({
            "protocol_version": PROTOCOL,
            "plugin": {
                "key": self.manifest.key,
                "name": self.manifest.name,
                "version": self.manifest.version,
                "folder": self.manifest.folder,
                "module": self.manifest.module,
            },
            "host": { "name": "petasos", "version": env!("CARGO_PKG_VERSION") },
            "home": self.host.settings.home(),
            "profile_name": self.host.profile_name(),
            "settings": settings.cloned().unwrap_or_else(|| json!({})),
            "entry": self.entry(),
        })
    }

    fn memory_max(&self) -> u64 {
        let configured = self.setting("memory_max_mb").and_then(Value::as_u64);
        configured.unwrap_or(MEMORY_MIB).saturating_mul(1024 * 1024)
    }
}

impl Attempts {
    fn note_failure(&mut self) {
        if self.began.take().is_some_and(|began| began.elapsed() >= STEADY) {
            self.failures = 0;
        }
        let pause = PAUSE.saturating_mul(1 << self.failures.min(10));
        self.failures += 1;
        self.not_before = Some(Instant::now() + pause.min(PAUSE_MAX));
    }

    fn may_start(&self, state: &State) -> Result<(), String> {
        let reason = match state {
            State::Failed { reason } => {
                return Err(format!(
                    "it failed {} times and is not started any more ({reason}): see `petasos \
                     plugins logs`, then `petasos plugins test`",
                    self.failures
                ));
            }
            State::Down { reason } => reason.as_str(),
            State::Idle | State::Starting | State::Ready => "",
        };
        let left = self.not_before.map(|then| then.saturating_duration_since(Instant::now()));
        match left.filter(|left| !left.is_zero()) {
            None => Ok(()),
            Some(left) => Err(format!(
                "it ended ({reason}) and is started again in {:.1} s",
                left.as_secs_f64()
            )),
        }
    }
}

/// Ends a plugin whose processes together hold more memory than they may.
fn watch(hand: Arc<dyn HelperHand>, connection: &Arc<Connection>, most: u64) -> Owned<()> {
    let connection = Arc::downgrade(connection);
    Owned::start(async move {
        loop {
            let pause = std::future::pending::<()>();
            // Running out of time is what this wait is for.
            drop(wait::until(Instant::now() + LOOK, "the next look at memory", pause).await);
            let pids = hand.pids().into_iter().chain([hand.pid()]);
            let used: u64 = pids.map(resident).sum();
            let Some(connection) = connection.upgrade() else { return };
            if used > most {
                let mib = used / (1024 * 1024);
                connection.end(&format!("it held {mib} MiB of memory, more than it may")).await;
                return;
            }
        }
    })
}

fn resident(pid: u32) -> u64 {
    const PAGE: u64 = 4096;
    let statm = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * PAGE
}
