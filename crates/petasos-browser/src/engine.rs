//! The one browser process and its sessions: who has one, who is idle, who is lost.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::ports::{Memory, Ports};
use petasos_contract::processes::{HelperHand, Processes};
use petasos_contract::wait::Owned;
use petasos_contract::{CallContext, SessionId, Settings};
use petasos_net::proxy::Proxies;
use petasos_net::{FilterProxy, SiteRules};
use serde_json::{Value, json};

use crate::attach;
use crate::chrome::{self, Profile};
use crate::error::BrowserError;
use crate::events::{Hub, text};
use crate::options::BrowserSettings;
use crate::session::{Session, SessionKey, SessionParts};
use crate::wire::{Listener, Wire};

/// A first start reads a hundred megabytes from disk.
const START_WAIT: Duration = Duration::from_mins(1);
/// The process outlives its last session by so much.
const PROCESS_IDLE: Duration = Duration::from_secs(30);
const REAP_EVERY: Duration = Duration::from_secs(2);

/// A browser that answers.
struct Running {
    wire: Arc<Wire>,
    hub: Arc<Hub>,
    hand: Option<Arc<dyn HelperHand>>,
    is_unconfined: bool,
    idle_since: Mutex<Option<Instant>>,
    // Dropped last: the folder of a process that is gone.
    _tasks: Vec<Owned<()>>,
    _refuses_all: Option<FilterProxy>,
    _profile: Option<Profile>,
}

/// What the browser uses, for people and measurements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// Open sessions.
    pub sessions: usize,
    /// Processes of the browser.
    pub pids: Vec<u32>,
    /// Their memory, shared pages counted once, in kilobytes; 0 where the system does not tell.
    pub kilobytes: u64,
}

/// The browsers of a program. Cheap while nobody uses them.
pub struct Browsers {
    processes: Option<Arc<dyn Processes>>,
    rules: Option<SiteRules>,
    running: tokio::sync::Mutex<Option<Arc<Running>>>,
    sessions: Mutex<HashMap<SessionKey, Arc<Session>>>,
    reaper: Mutex<Option<Owned<()>>>,
}

impl fmt::Debug for Browsers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browsers")
            .field("sessions", &self.sessions.lock().len())
            .finish_non_exhaustive()
    }
}

impl Browsers {
    /// None started yet; processes are started through this port.
    pub fn new(processes: Option<Arc<dyn Processes>>) -> Arc<Self> {
        Arc::new(Self {
            processes,
            rules: None,
            running: tokio::sync::Mutex::new(None),
            sessions: Mutex::default(),
            reaper: Mutex::default(),
        })
    }

    /// The same over other site rules than those of the settings, for embedders with a resolver of
    /// their own.
    pub fn with_rules(processes: Option<Arc<dyn Processes>>, rules: SiteRules) -> Arc<Self> {
        Arc::new(Self {
            processes,
            rules: Some(rules),
            running: tokio::sync::Mutex::new(None),
            sessions: Mutex::default(),
            reaper: Mutex::default(),
        })
    }

    /// The browsers that a program put into its ports.
    pub fn of(ports: &Ports) -> Option<Arc<Self>> {
        let kept = ports.browsers.clone()?;
        (kept as Arc<dyn std::any::Any + Send + Sync>).downcast().ok()
    }

    /// The session of a call. Only a navigation opens one.
    pub(crate) async fn session(
        self: &Arc<Self>,
        cx: &CallContext,
        opens: bool,
    ) -> Result<Arc<Session>, BrowserError> {
        let key = (cx.session.clone(), cx.task.clone());
        let known = self.sessions.lock().get(&key).cloned();
        let was_lost = match known {
            Some(session) if session.lives() => {
                *session.used.lock() = Instant::now();
                return Ok(session);
            }
            Some(_) => true,
            None => false,
        };
        if !opens {
            return Err(if was_lost {
                crate::wire::WireError::Gone.into()
            } else {
                BrowserError::no_page()
            });
        }
        self.open(key, cx, was_lost).await
    }

    /// The session of a call, when there is one, without using it.
    pub(crate) fn peek(&self, cx: &CallContext) -> Option<Arc<Session>> {
        self.sessions.lock().get(&(cx.session.clone(), cx.task.clone())).cloned()
    }

    async fn open(
        self: &Arc<Self>,
        key: SessionKey,
        cx: &CallContext,
        was_lost: bool,
    ) -> Result<Arc<Session>, BrowserError> {
        let own: BrowserSettings = cx
            .settings
            .section()
            .map_err(|error| BrowserError::new("missing_setup", error.to_string()))?;
        self.make_room(own.max_sessions.max(1)).await;
        let running = self.running(&cx.settings, &own).await?;
        let rules = self.rules.clone().unwrap_or_else(|| SiteRules::from_settings(&cx.settings));
        let proxies = Proxies::from_settings(&cx.settings);
        let proxy = FilterProxy::start(rules, proxies, own.max_mb.saturating_mul(1_000_000)).await;
        let proxy = proxy.map_err(|error| BrowserError::new("upstream", error.to_string()))?;
        let context = json!({ "disposeOnDetach": true, "proxyBypassList": "<-loopback>",
            "proxyServer": format!("http://{}", proxy.address()) });
        let made =
            running.wire.call(None, "Target.createBrowserContext", context, START_WAIT).await?;
        let context = text(&made["browserContextId"]).to_owned();
        let folder = folder(&cx.settings, &key).map_err(|error| {
            BrowserError::new("upstream", format!("no folder for downloads: {error}"))
        })?;
        let mut first = Vec::new();
        if was_lost {
            first.push(("session_restarted", Value::Bool(true)));
        }
        if running.is_unconfined {
            first.push(("browser_sandbox", Value::String("off".to_owned())));
        }
        let session = Session::new(SessionParts {
            key: key.clone(),
            wire: Arc::clone(&running.wire),
            context,
            proxy,
            hub: Arc::clone(&running.hub),
            folder,
            options: own,
            first,
        });
        running.hub.add(&session);
        self.sessions.lock().insert(key, Arc::clone(&session));
        running.idle_since.lock().take();
        self.watch();
        let opened = begin(&session).await;
        if opened.is_err() {
            self.close(&session);
        }
        opened.map(|()| session)
    }

    async fn running(
        &self,
        settings: &Arc<Settings>,
        own: &BrowserSettings,
    ) -> Result<Arc<Running>, BrowserError> {
        let mut running = self.running.lock().await;
        if let Some(running) = running.as_ref().filter(|running| !running.wire.is_gone()) {
            return Ok(Arc::clone(running));
        }
        *running = None;
        let hub = Arc::new(Hub::default());
        let new = match attach::address(settings, own)? {
            Some(address) => attached(settings, &address, hub).await?,
            None => self.started(settings, own, hub).await?,
        };
        let auto = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
        new.wire.call(None, "Target.setAutoAttach", auto, START_WAIT).await?;
        let new = Arc::new(new);
        *running = Some(Arc::clone(&new));
        Ok(new)
    }

    async fn started(
        &self,
        settings: &Arc<Settings>,
        own: &BrowserSettings,
        hub: Arc<Hub>,
    ) -> Result<Running, BrowserError> {
        let processes = self.processes.as_ref().ok_or_else(|| {
            BrowserError::new("missing_setup", "this program cannot start processes")
        })?;
        let refuses_all = FilterProxy::start(SiteRules::default(), Proxies::default(), 0)
            .await
            .map_err(|error| BrowserError::new("upstream", error.to_string()))?;
        let chrome = chrome::start(processes, settings, own, refuses_all.address()).await?;
        let (stdin, stdout) = (chrome.helper.stdin, chrome.helper.stdout);
        let listener = Arc::clone(&hub) as Arc<dyn Listener>;
        let (wire, tasks) = Wire::over_pipe(stdout, stdin, listener);
        hub.speaks_over(&wire);
        let version = wire.call(None, "Browser.getVersion", json!({}), START_WAIT).await;
        let version = version.map_err(|error| {
            BrowserError::new("crashed", format!("the browser did not start: {error}"))
        })?;
        tracing::debug!(version = text(&version["product"]), "a browser was started");
        Ok(Running {
            wire,
            hub,
            hand: Some(chrome.helper.hand),
            is_unconfined: chrome.is_unconfined,
            idle_since: Mutex::default(),
            _tasks: tasks,
            _refuses_all: Some(refuses_all),
            _profile: Some(chrome.profile),
        })
    }

    /// Closes the session that was idle longest when there are too many.
    async fn make_room(&self, most: usize) {
        while self.sessions.lock().len() >= most {
            let oldest = {
                let sessions = self.sessions.lock();
                sessions.values().min_by_key(|session| *session.used.lock()).cloned()
            };
            let Some(oldest) = oldest else { return };
            self.close(&oldest);
            tokio::task::yield_now().await;
        }
    }

    /// Ends a session: its context, pages, cookies and proxy.
    fn close(&self, session: &Arc<Session>) {
        let dispose = json!({ "browserContextId": session.context });
        session.wire.post(None, "Target.disposeBrowserContext", &dispose);
        session.state().is_lost = true;
        session.changed.notify_waiters();
        session.hub.remove(session);
        let mut sessions = self.sessions.lock();
        if sessions.get(&session.key).is_some_and(|kept| Arc::ptr_eq(kept, session)) {
            sessions.remove(&session.key);
        }
    }

    fn watch(self: &Arc<Self>) {
        let mut reaper = self.reaper.lock();
        if reaper.as_ref().is_none_or(Owned::is_finished) {
            *reaper = Some(Owned::start(reap(Arc::downgrade(self))));
        }
    }

    /// Ends what nobody uses; says whether there is anything left to look after.
    async fn sweep(&self) -> bool {
        let idle: Vec<_> = {
            let sessions = self.sessions.lock();
            let is_idle = |session: &&Arc<Session>| {
                session.turn.try_lock().is_ok()
                    && session.used.lock().elapsed() > session.options.idle()
            };
            sessions.values().filter(is_idle).cloned().collect()
        };
        for session in idle {
            tracing::debug!("an idle browser session is closed");
            self.close(&session);
        }
        let is_empty = self.sessions.lock().is_empty();
        let mut slot = self.running.lock().await;
        let Some(running) = slot.as_ref() else { return !is_empty };
        let idle_for = {
            let mut since = running.idle_since.lock();
            if is_empty { Some(since.get_or_insert_with(Instant::now).elapsed()) } else { None }
        };
        if idle_for.is_some_and(|idle_for| idle_for > PROCESS_IDLE) {
            let ended = slot.take();
            drop(slot);
            end(ended).await;
            return false;
        }
        true
    }

    /// Ends the browser and waits until no process of it is left.
    pub async fn shut_down(&self) {
        self.reaper.lock().take();
        let sessions: Vec<_> = self.sessions.lock().drain().map(|(_, session)| session).collect();
        for session in sessions {
            self.close(&session);
        }
        let running = self.running.lock().await.take();
        end(running).await;
    }

    /// What is in use.
    pub async fn usage(&self) -> Usage {
        let running = self.running.lock().await.clone();
        let hand = running.and_then(|running| running.hand.clone());
        let pids = hand.map(|hand| hand.pids()).unwrap_or_default();
        let kilobytes = pids.iter().filter_map(|pid| proportional(*pid)).sum();
        Usage { sessions: self.sessions.lock().len(), pids, kilobytes }
    }
}

impl Memory for Browsers {
    fn forget(&self, session: &SessionId) {
        let ended: Vec<_> = {
            let sessions = self.sessions.lock();
            sessions.values().filter(|kept| kept.key.0 == *session).cloned().collect()
        };
        for session in ended {
            self.close(&session);
        }
    }
}

async fn reap(browsers: Weak<Browsers>) {
    loop {
        tokio::time::sleep(REAP_EVERY).await;
        let Some(browsers) = browsers.upgrade() else { return };
        if !browsers.sweep().await {
            return;
        }
    }
}

async fn end(running: Option<Arc<Running>>) {
    const GRACE: Duration = Duration::from_millis(500);
    let Some(running) = running else { return };
    if let Some(hand) = &running.hand
        && let Err(error) = hand.kill(GRACE).await
    {
        tracing::warn!(%error, "the browser did not end");
    }
}

async fn attached(
    settings: &Settings,
    address: &attach::Address,
    hub: Arc<Hub>,
) -> Result<Running, BrowserError> {
    let halves = attach::connect(settings, address).await?;
    let (wire, tasks) = Wire::over_websocket(halves, Arc::clone(&hub) as Arc<dyn Listener>);
    hub.speaks_over(&wire);
    Ok(Running {
        wire,
        hub,
        hand: None,
        is_unconfined: false,
        idle_since: Mutex::default(),
        _tasks: tasks,
        _refuses_all: None,
        _profile: None,
    })
}

/// The first tab of a context, ready to be used.
async fn begin(session: &Arc<Session>) -> Result<(), BrowserError> {
    let context = &session.context;
    let wire = &session.wire;
    // Granting nothing denies everything that is asked for.
    let nothing = json!({ "permissions": [], "browserContextId": context });
    wire.post(None, "Browser.grantPermissions", &nothing);
    let downloads = json!({ "behavior": "allowAndName", "browserContextId": context,
        "downloadPath": session.folder, "eventsEnabled": true });
    wire.post(None, "Browser.setDownloadBehavior", &downloads);
    new_tab(session).await.map(|_| ())
}

/// Opens a tab and makes it the one that calls mean.
pub(crate) async fn new_tab(session: &Session) -> Result<String, BrowserError> {
    let params = json!({ "url": "about:blank", "browserContextId": session.context });
    let made = session.wire.call(None, "Target.createTarget", params, START_WAIT).await?;
    let target = text(&made["targetId"]).to_owned();
    let found = session.until(Instant::now() + START_WAIT, |state| {
        let tab = state.tabs.iter().find(|tab| tab.target == target)?;
        let id = tab.id.clone();
        state.active = Some(id.clone());
        Some(id)
    });
    found.await.ok_or_else(|| BrowserError::new("timeout", "a new tab did not open in time"))
}

fn folder(
    settings: &Settings,
    (session, task): &SessionKey,
) -> std::io::Result<std::path::PathBuf> {
    use std::os::unix::fs::DirBuilderExt as _;
    let safe = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(64).collect()
    };
    let name = format!("{}-{}", safe(session.as_str()), safe(task.as_str()));
    let folder = settings.home().join("cache").join("browser").join("files").join(name);
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    std::path::absolute(folder)
}

/// The memory of a process with shared pages divided among their users.
fn proportional(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find(|line| line.starts_with("Pss:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
