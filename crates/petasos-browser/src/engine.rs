//! The browsers of a program and their sessions: who has one, who is idle, who is lost.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::ports::{Memory, Ports};
use petasos_contract::processes::Processes;
use petasos_contract::wait::Owned;
use petasos_contract::{CallContext, SessionId, Settings, TaskId};
use petasos_net::proxy::Proxies;
use petasos_net::{FilterProxy, SiteRules};
use serde_json::{Value, json};

use crate::cloud;
use crate::error::BrowserError;
use crate::events::text;
use crate::options::BrowserSettings;
use crate::record::Recorder;
use crate::running::{Running, START_WAIT, Which, beside};
use crate::session::{Session, SessionKey, SessionParts};
use crate::tab::Frame;

/// The process outlives its last session by so much.
const PROCESS_IDLE: Duration = Duration::from_secs(30);
const REAP_EVERY: Duration = Duration::from_secs(2);

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
    pub(crate) processes: Option<Arc<dyn Processes>>,
    rules: Option<SiteRules>,
    running: tokio::sync::Mutex<HashMap<Which, Arc<Running>>>,
    sessions: Mutex<HashMap<SessionKey, Arc<Session>>>,
    /// Which of its two sessions a caller used last, where one is in a cloud and one is here.
    last: Mutex<HashMap<SessionKey, SessionKey>>,
    reaper: Mutex<Option<Owned<()>>>,
    rendered: AtomicU64,
    /// Films that are being written, also of sessions that are closed.
    recorders: Mutex<Vec<Owned<()>>>,
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
        Self::made(processes, None)
    }

    /// The same over other site rules than those of the settings, for embedders with a resolver of
    /// their own.
    pub fn with_rules(processes: Option<Arc<dyn Processes>>, rules: SiteRules) -> Arc<Self> {
        Self::made(processes, Some(rules))
    }

    fn made(processes: Option<Arc<dyn Processes>>, rules: Option<SiteRules>) -> Arc<Self> {
        Arc::new(Self {
            processes,
            rules,
            running: tokio::sync::Mutex::default(),
            sessions: Mutex::default(),
            last: Mutex::default(),
            reaper: Mutex::default(),
            rendered: AtomicU64::new(0),
            recorders: Mutex::default(),
        })
    }

    /// The browsers that a program put into its ports.
    pub fn of(ports: &Ports) -> Option<Arc<Self>> {
        let kept = ports.browsers.clone()?;
        (kept as Arc<dyn std::any::Any + Send + Sync>).downcast().ok()
    }

    /// The session of a call. Only a navigation opens one, for an address that may be private.
    pub(crate) async fn session(
        self: &Arc<Self>,
        cx: &CallContext,
        opens: Option<IsPrivate>,
    ) -> Result<Arc<Session>, BrowserError> {
        let key = self.key(cx, opens)?;
        let known = self.sessions.lock().get(&key).cloned();
        let was_lost = match known {
            Some(session) if session.lives() => {
                *session.used.lock() = Instant::now();
                return Ok(session);
            }
            Some(_) => true,
            None => false,
        };
        if opens.is_none() {
            return Err(if was_lost {
                crate::wire::WireError::Gone.into()
            } else {
                BrowserError::no_page()
            });
        }
        let own = options(cx)?;
        let which = Which::of(&cx.settings, &own, &key)?;
        self.open(key, cx, was_lost, which).await
    }

    /// The key of a call's session. Beside one in a cloud there may be one here for private
    /// addresses; what follows uses the one that was used last.
    fn key(&self, cx: &CallContext, opens: Option<IsPrivate>) -> Result<SessionKey, BrowserError> {
        let base = (cx.session.clone(), cx.task.clone());
        let own = options(cx)?;
        if cloud::chosen(&own)?.is_none() {
            return Ok(base);
        }
        let mut last = self.last.lock();
        let key = match opens {
            Some(IsPrivate(true)) if own.auto_local_for_private_urls => beside(&base),
            Some(IsPrivate(_)) => base.clone(),
            None => return Ok(last.get(&base).cloned().unwrap_or(base)),
        };
        last.insert(base, key.clone());
        Ok(key)
    }

    /// The session of a call, when there is one, without using it.
    pub(crate) fn peek(&self, cx: &CallContext) -> Option<Arc<Session>> {
        let key = self.key(cx, None).ok()?;
        self.sessions.lock().get(&key).cloned()
    }

    pub(crate) async fn open(
        self: &Arc<Self>,
        key: SessionKey,
        cx: &CallContext,
        was_lost: bool,
        which: Which,
    ) -> Result<Arc<Session>, BrowserError> {
        let own = options(cx)?;
        self.make_room(own.max_sessions.max(1)).await;
        self.refuse_second(&which)?;
        let rules = self.rules.clone().unwrap_or_else(|| SiteRules::from_settings(&cx.settings));
        let proxies = Proxies::from_settings(&cx.settings);
        let proxy = FilterProxy::start(rules, proxies, own.max_mb.saturating_mul(1_000_000)).await;
        let proxy = proxy.map_err(|error| BrowserError::new("upstream", error.to_string()))?;
        let running = self.running(&which, (&cx.settings, &own), proxy.address()).await?;
        let context = context(&running, &which, &proxy).await?;
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
            which,
            wire: Arc::clone(&running.wire),
            context,
            proxy,
            hub: Arc::clone(&running.hub),
            is_remote: running.is_remote,
            folder,
            options: own,
            first,
        });
        if running.is_remote {
            session.state().note("addresses are checked afterwards here".to_owned());
        }
        running.hub.add(&session);
        self.sessions.lock().insert(key, Arc::clone(&session));
        running.idle_since.lock().take();
        self.watch();
        self.record(&session, &cx.settings).await;
        let opened = begin(&session).await;
        if opened.is_err() {
            self.close(&session);
        }
        opened.map(|()| session)
    }

    /// Films a session where the settings ask for it.
    async fn record(&self, session: &Arc<Session>, settings: &Arc<Settings>) {
        if !session.options.record_sessions {
            return;
        }
        match Recorder::start(self.processes.as_ref(), settings, &session.folder).await {
            Ok((recorder, task)) => {
                *session.recorder.lock() = Some(recorder);
                let mut all = self.recorders.lock();
                all.retain(|task| !task.is_finished());
                all.push(task);
            }
            Err(why) => session.state().note(format!("the session is not recorded: {why}")),
        }
    }

    /// A profile is used by one session at a time: two would see each other's logins.
    pub(crate) fn refuse_second(&self, which: &Which) -> Result<(), BrowserError> {
        let Which::Profile(name) = which else { return Ok(()) };
        let used = self.sessions.lock().values().any(|it| it.which == *which && it.lives());
        if !used {
            return Ok(());
        }
        let text = format!("the browser profile `{name}` is used by another session; end that one");
        Err(BrowserError::new("busy", text))
    }

    async fn running(
        &self,
        which: &Which,
        (settings, own): (&Arc<Settings>, &BrowserSettings),
        proxy: std::net::SocketAddr,
    ) -> Result<Arc<Running>, BrowserError> {
        let mut all = self.running.lock().await;
        let known = all.get(which).filter(|running| !running.wire.is_gone());
        // The process of a profile goes through the proxy of the session that it was started for.
        if let Some(running) = known.filter(|_| !which.is_alone()) {
            return Ok(Arc::clone(running));
        }
        if let Some(before) = all.remove(which) {
            before.end().await;
        }
        let processes = self.processes.as_ref();
        let new = Arc::new(Running::open(which, processes, (settings, own), proxy).await?);
        all.insert(which.clone(), Arc::clone(&new));
        Ok(new)
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

    /// Ends a session: its context, pages, cookies and proxy. A browser that was its alone ends
    /// with the next look of the reaper.
    pub(crate) fn close(&self, session: &Arc<Session>) {
        if !session.which.is_alone() {
            let dispose = json!({ "browserContextId": session.context });
            session.wire.post(None, "Target.disposeBrowserContext", &dispose);
        }
        session.state().is_lost = true;
        session.changed.notify_waiters();
        session.recorder.lock().take();
        session.hub.remove(session);
        let mut sessions = self.sessions.lock();
        if sessions.get(&session.key).is_some_and(|kept| Arc::ptr_eq(kept, session)) {
            sessions.remove(&session.key);
        }
    }

    /// A key that nobody has: for a page that is opened beside all sessions.
    pub(crate) fn own_key(&self, cx: &CallContext) -> SessionKey {
        let number = self.rendered.fetch_add(1, Ordering::Relaxed);
        (cx.session.clone(), TaskId::new(format!("{} page {number}", cx.task.as_str())))
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
        self.make_less().await;
        let used: Vec<Which> =
            self.sessions.lock().values().map(|session| session.which.clone()).collect();
        let is_left = {
            // Ended under the lock: whoever wants the same profile next finds it free.
            let mut all = self.running.lock().await;
            let mut ended = Vec::new();
            all.retain(|which, running| {
                let mut since = running.idle_since.lock();
                if used.contains(which) {
                    *since = None;
                    return true;
                }
                let idle_for = since.get_or_insert_with(Instant::now).elapsed();
                let most = if which.is_alone() { Duration::ZERO } else { PROCESS_IDLE };
                let stays = idle_for < most;
                if !stays {
                    ended.push(Arc::clone(running));
                }
                stays
            });
            for running in ended {
                running.end().await;
            }
            !all.is_empty()
        };
        is_left || !self.sessions.lock().is_empty()
    }

    /// Closes the session that was idle longest while the browser takes too much memory.
    async fn make_less(&self) {
        let most = self.sessions.lock().values().map(|it| it.options.memory_max_mb).min();
        let Some(most) = most else { return };
        if self.usage().await.kilobytes <= most.saturating_mul(1024) {
            return;
        }
        let oldest = {
            let sessions = self.sessions.lock();
            let resting = sessions.values().filter(|session| session.turn.try_lock().is_ok());
            resting.min_by_key(|session| *session.used.lock()).cloned()
        };
        if let Some(oldest) = oldest {
            tracing::warn!(most, "the browser takes too much memory; its idlest session is closed");
            self.close(&oldest);
        }
    }

    /// Ends the browser and waits until no process of it is left.
    pub async fn shut_down(&self) {
        self.reaper.lock().take();
        let sessions: Vec<_> = self.sessions.lock().drain().map(|(_, session)| session).collect();
        for session in sessions {
            self.close(&session);
        }
        let recorders = std::mem::take(&mut *self.recorders.lock());
        for recorder in recorders {
            recorder.join().await;
        }
        let all: Vec<_> = self.running.lock().await.drain().map(|(_, running)| running).collect();
        for running in all {
            running.end().await;
        }
    }

    /// What is in use.
    pub async fn usage(&self) -> Usage {
        let hands: Vec<_> =
            self.running.lock().await.values().filter_map(|it| it.hand.clone()).collect();
        let pids: Vec<u32> = hands.iter().flat_map(|hand| hand.pids()).collect();
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

fn options(cx: &CallContext) -> Result<BrowserSettings, BrowserError> {
    let own = cx.settings.section();
    own.map_err(|error| BrowserError::new("missing_setup", error.to_string()))
}

/// Whether an address that is opened is one of this machine or of a private network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IsPrivate(pub(crate) bool);

/// The context of a session: one of its own behind its proxy, or the browser's only one.
async fn context(
    running: &Running,
    which: &Which,
    proxy: &FilterProxy,
) -> Result<String, BrowserError> {
    if which.is_alone() {
        return Ok(String::new());
    }
    let mut asked = json!({ "disposeOnDetach": true });
    if let Some(asked) = asked.as_object_mut().filter(|_| !running.is_remote) {
        asked.insert("proxyBypassList".to_owned(), "<-loopback>".into());
        asked.insert("proxyServer".to_owned(), format!("http://{}", proxy.address()).into());
    }
    let made = running.wire.call(None, "Target.createBrowserContext", asked, START_WAIT).await?;
    Ok(text(&made["browserContextId"]).to_owned())
}

/// The first tab of a context, ready to be used.
async fn begin(session: &Arc<Session>) -> Result<(), BrowserError> {
    let wire = &session.wire;
    // Granting nothing denies everything that is asked for.
    wire.post(None, "Browser.grantPermissions", &session.within(json!({ "permissions": [] })));
    let downloads = if session.is_remote {
        // They would end up on a machine that is not ours.
        json!({ "behavior": "deny", "eventsEnabled": true })
    } else {
        json!({ "behavior": "allowAndName", "downloadPath": session.folder, "eventsEnabled": true })
    };
    wire.post(None, "Browser.setDownloadBehavior", &session.within(downloads));
    new_tab(session).await.map(|_| ())
}

/// Opens a tab and makes it the one that calls mean.
pub(crate) async fn new_tab(session: &Session) -> Result<String, BrowserError> {
    let params = session.within(json!({ "url": "about:blank" }));
    let made = session.wire.call(None, "Target.createTarget", params, START_WAIT).await?;
    let target = text(&made["targetId"]).to_owned();
    let found = session.until(Instant::now() + START_WAIT, |state| {
        let tab = state.tabs.iter().find(|tab| tab.target == target)?;
        let found = (tab.id.clone(), tab.cdp.clone());
        state.active = Some(found.0.clone());
        Some(found)
    });
    let (id, cdp) = found
        .await
        .ok_or_else(|| BrowserError::new("timeout", "a new tab did not open in time"))?;
    // On a busy machine a navigation overtakes what the new page was asked to tell us, and then we
    // never hear of its document. Its answer says that it listens.
    let tree = session.wire.call(Some(&cdp), "Page.getFrameTree", json!({}), START_WAIT).await?;
    let frame = &tree["frameTree"]["frame"];
    if let Some(tab) = session.state().tab(&id) {
        let known = Frame {
            loader: text(&frame["loaderId"]).to_owned(),
            url: text(&frame["url"]).to_owned(),
        };
        tab.frames.entry(target).or_insert(known);
    }
    Ok(id)
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
