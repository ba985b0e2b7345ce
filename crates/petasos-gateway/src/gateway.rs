//! The gateway: its parts, its accounts, and what they share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::wait::{self, Owned};
use petasos_contract::{Address, BoxFuture, SessionId, Settings};
use petasos_net::Net;
use petasos_session::{Choice, Sessions};
use petasos_store::{
    DeliveryClass, DeliveryState, GatewayStore, InboxRow, Lane, NewDelivery, SessionStore,
    StoreError,
};
use tokio::sync::{Notify, Semaphore};
use tracing::warn;

use crate::account::Account;
use crate::cards::Cards;
use crate::chosen::Footer;
use crate::elsewhere::Wanted;
use crate::flood::Floods;
use crate::hearing::Hearing;
use crate::hold::Holds;
use crate::letters::Letters;
use crate::offers::Offers;
use crate::options::GatewayOptions;
use crate::platform::{Platform, PlatformDef, Sender, now_ms};
use crate::roster::{self, Named, Served};
use crate::status::GatewayStatus;
use crate::turns::{Runners, StopReason};
use crate::upkeep;

/// With less free on the disk nothing is read any more.
const DISK_LEAST: u64 = 256 * 1024 * 1024;
const DISK_FULL: &str = "what comes in is not read: less than 256 MiB are free on the disk";
/// What is sent still gets so long when the gateway stops.
const LAST_DELIVERIES: Duration = Duration::from_secs(5);

/// What the gateway needs from the program around it.
pub trait GatewayHost: Send + Sync {
    /// What a conversation on a platform chooses: toolsets, model, prompt.
    fn choice(&self, platform: &PlatformDef, address: &Address) -> Choice;

    /// From now on this session is reached there.
    fn placed(&self, session: &SessionId, address: &Arc<Address>, attended: bool);

    /// Names a new session.
    fn new_session(&self) -> SessionId;

    /// Why nothing may run, when everything was stopped.
    fn stopped(&self) -> Option<String>;

    /// Stops everything of this home, in this process and in others.
    fn stop_all(&self, by: &str) -> Result<(), String>;

    /// A text without secrets.
    fn redact(&self, text: &str) -> String;

    /// These sessions are open now; what is kept about others can go.
    fn resident(&self, _sessions: &[SessionId]) {}

    /// How much is free on the disk of the home, where that is known.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// Whether commands of this home run elsewhere than on this machine.
    fn is_elsewhere(&self) -> bool {
        false
    }

    /// Fetches a file from where the commands of a conversation run, if it may be sent.
    fn fetched<'a>(&'a self, _wanted: Wanted<'a>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Err("commands run on this machine".to_owned())))
    }

    /// Puts a file that came in where the commands of a conversation run, and says where it is.
    fn lent<'a>(
        &'a self,
        _session: &'a SessionId,
        _path: &'a str,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// A text that is said aloud: where the recording is.
    fn spoken<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(std::future::ready(Err("there is no voice here".to_owned())))
    }

    /// Whether another program stands where this one was started from.
    fn is_outdated(&self) -> bool {
        false
    }

    /// What is said in a recording.
    fn heard<'a>(&'a self, _path: &'a str) -> BoxFuture<'a, Hearing> {
        Box::pin(std::future::ready(Hearing::Unheard(None)))
    }
}

/// What a gateway is made of.
pub struct GatewayParts {
    /// What it keeps.
    pub store: Arc<dyn GatewayStore>,
    /// Conversations.
    pub conversations: Arc<dyn SessionStore>,
    /// The sessions.
    pub sessions: Arc<Sessions>,
    /// The program around.
    pub host: Arc<dyn GatewayHost>,
    /// Configuration, environment and secrets.
    pub settings: Arc<Settings>,
    /// The way out to the network.
    pub net: Arc<Net>,
    /// The platforms that are known.
    pub platforms: Vec<&'static PlatformDef>,
    /// Accounts besides those that the settings name: an embedder's.
    pub accounts: Vec<(&'static PlatformDef, Arc<dyn Platform>)>,
}

impl std::fmt::Debug for GatewayParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayParts").field("sessions", &self.sessions).finish_non_exhaustive()
    }
}

/// What every part of the gateway shares.
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn GatewayStore>,
    pub(crate) conversations: Arc<dyn SessionStore>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) host: Arc<dyn GatewayHost>,
    pub(crate) settings: Mutex<Arc<Settings>>,
    options: Mutex<Arc<GatewayOptions>>,
    accounts: Mutex<Arc<[Arc<Account>]>>,
    pub(crate) runners: Runners,
    pub(crate) slots: Semaphore,
    pub(crate) cards: Cards,
    pub(crate) holds: Holds,
    pub(crate) offers: Offers,
    pub(crate) floods: Floods,
    /// Who wrote what waits, with what only the platform knows of them.
    pub(crate) senders: Mutex<HashMap<String, Sender>>,
    pub(crate) stops: Mutex<HashMap<SessionId, StopReason>>,
    /// Why nothing that comes in can be stored, while that is so.
    pub(crate) unstored: Mutex<Option<String>>,
    /// Messages whose turns run here.
    pub(crate) running: Mutex<HashMap<String, InboxRow>>,
    pub(crate) composed: Notify,
    pub(crate) counters: Counters,
    pub(crate) draining: AtomicBool,
    settled: Notify,
    restart_wanted: AtomicBool,
    restart: AtomicBool,
    pub(crate) leave: Notify,
    /// A chat wants the settings to be read again.
    pub(crate) reload: Notify,
    /// What stands below answers, by session.
    pub(crate) footers: Mutex<HashMap<String, Footer>>,
}

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) accepted: AtomicU64,
    pub(crate) repeated: AtomicU64,
    pub(crate) strangers: AtomicU64,
    pub(crate) turns: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) failed_sends: AtomicU64,
}

/// A running gateway; ends when dropped.
pub struct Gateway {
    shared: Arc<Shared>,
    since_ms: i64,
    platforms: Vec<&'static PlatformDef>,
    net: Arc<Net>,
    /// Held while the accounts change.
    served: tokio::sync::Mutex<Vec<Served>>,
    /// Deliveries of accounts that are gone.
    ending: Mutex<Vec<Owned<()>>>,
    _tasks: Vec<Owned<()>>,
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("accounts", &self.accounts()).finish_non_exhaustive()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.shared.draining.store(true, Ordering::Release);
        self.shared.runners.abandon();
    }
}

impl Gateway {
    /// Opens every configured account and begins to work. Says which settings cannot be used.
    pub async fn start(parts: GatewayParts) -> Result<Self, String> {
        let options = GatewayOptions::of(&parts.settings)?;
        let mut named = Named::all(&parts.platforms, &parts.settings, &parts.net)?;
        for (def, platform) in parts.accounts {
            named.push(Named::brought(def, platform, &parts.settings)?);
        }
        let accounts: Vec<_> =
            named.into_iter().map(|named| Served::account(named, None)).collect();
        let shared = Arc::new(Shared {
            store: parts.store,
            conversations: parts.conversations,
            sessions: parts.sessions,
            host: parts.host,
            settings: Mutex::new(parts.settings),
            slots: Semaphore::new(options.turns_max),
            options: Mutex::new(Arc::new(options)),
            accounts: Mutex::new(accounts.iter().map(|(it, _)| Arc::clone(it)).collect()),
            runners: Runners::default(),
            cards: Cards::default(),
            holds: Holds::default(),
            offers: Offers::default(),
            floods: Floods::default(),
            senders: Mutex::default(),
            stops: Mutex::default(),
            unstored: Mutex::default(),
            running: Mutex::default(),
            composed: Notify::new(),
            counters: Counters::default(),
            draining: AtomicBool::new(false),
            settled: Notify::new(),
            restart_wanted: AtomicBool::new(false),
            restart: AtomicBool::new(false),
            leave: Notify::new(),
            reload: Notify::new(),
            footers: Mutex::default(),
        });
        shared.sessions.correspond(Arc::new(Letters(Arc::downgrade(&shared))));
        shared.keep_resting().await.map_err(|error| error.to_string())?;
        shared.recover().await.map_err(|error| error.to_string())?;
        shared.tell_back().await;
        let tasks = vec![
            Owned::start(upkeep::clean(Arc::clone(&shared))),
            Owned::start(upkeep::heed_stop(Arc::clone(&shared))),
        ];
        let start = |(account, mark): &(Arc<Account>, _)| Served::start(account, *mark, &shared);
        let served = tokio::sync::Mutex::new(accounts.iter().map(start).collect());
        Ok(Self {
            shared,
            since_ms: now_ms(),
            platforms: parts.platforms,
            net: parts.net,
            served,
            ending: Mutex::default(),
            _tasks: tasks,
        })
    }

    /// Approvals of turns that no chat began are asked there, of its administrators, while the
    /// value lives. Nothing when no account of this gateway reaches it.
    pub fn route_questions(&self, to: Lane) -> Option<Owned<()>> {
        self.shared.account(&to)?;
        Some(Owned::start(Arc::clone(&self.shared).route_questions(to)))
    }

    /// The accounts.
    pub fn accounts(&self) -> Arc<[Arc<Account>]> {
        self.shared.accounts()
    }

    /// How it is.
    pub async fn status(&self) -> Result<GatewayStatus, StoreError> {
        self.shared.status(self.since_ms).await
    }

    /// New settings for everything that can change while it runs: who may write, how busy chats
    /// behave, when they begin anew, which accounts there are. Accounts that were changed connect
    /// anew, others stay connected, running turns keep their settings. What cannot be used changes
    /// nothing.
    pub async fn reload(&self, settings: &Arc<Settings>) -> Result<(), String> {
        let mut served = self.served.lock().await;
        let options = GatewayOptions::of(settings)?;
        let mut named = Named::all(&self.platforms, settings, &self.net)?;
        for one in served.iter() {
            named.extend(one.brought(settings)?);
        }
        *self.shared.options.lock() = Arc::new(options);
        *self.shared.settings.lock() = Arc::clone(settings);
        let left = roster::follow(&mut served, named, &self.shared).await;
        let mut ending = self.ending.lock();
        ending.retain(|task| !task.is_finished());
        ending.extend(left);
        Ok(())
    }

    /// Comes back when a chat asked the gateway to restart.
    pub async fn asked_to_restart(&self) {
        loop {
            let told = self.shared.leave.notified();
            if self.shared.restart.load(Ordering::Acquire) {
                return;
            }
            told.await;
        }
    }

    /// Comes back when a chat asked for the settings to be read again.
    pub async fn asked_to_reload(&self) {
        self.shared.reload.notified().await;
    }

    /// Takes no new turns, lets running ones end, cuts those off that take too long, sends what is
    /// left, and lets go of the platforms.
    pub async fn drain(&self) {
        let shared = &self.shared;
        shared.draining.store(true, Ordering::Release);
        // Cards that are open stay valid for the next process.
        shared.sessions.questions().suspend();
        shared.slots.close();
        let deadline = Instant::now() + shared.options().drain;
        if wait::until(deadline, "the running turns", shared.runners.idle()).await.is_err() {
            for session in shared.runners.sessions() {
                shared.interrupt(&session, StopReason::Drain);
            }
            let more = Instant::now() + Duration::from_secs(3);
            if wait::until(more, "the turns that were cut off", shared.runners.idle())
                .await
                .is_err()
            {
                warn!("some turns did not end in time");
            }
        }
        let deadline = Instant::now() + LAST_DELIVERIES;
        while Instant::now() < deadline && shared.has_due().await {
            let settled = shared.settled.notified();
            drop(
                wait::until(
                    deadline.min(Instant::now() + Duration::from_millis(100)),
                    "deliveries",
                    settled,
                )
                .await,
            );
        }
        self.served.lock().await.iter_mut().for_each(Served::disconnect);
    }
}

impl Shared {
    pub(crate) fn options(&self) -> Arc<GatewayOptions> {
        Arc::clone(&self.options.lock())
    }

    /// The accounts as they are now.
    pub(crate) fn accounts(&self) -> Arc<[Arc<Account>]> {
        Arc::clone(&self.accounts.lock())
    }

    pub(crate) fn set_accounts(&self, accounts: Arc<[Arc<Account>]>) {
        *self.accounts.lock() = accounts;
    }

    /// The account that a lane belongs to.
    pub(crate) fn account(&self, lane: &Lane) -> Option<Arc<Account>> {
        let own = |account: &&Arc<Account>| {
            account.def.name == lane.platform && account.platform.account() == lane.account
        };
        self.accounts.lock().iter().find(own).cloned()
    }

    /// Plans a message and lets it go.
    pub(crate) async fn say(&self, delivery: NewDelivery) -> Result<(), StoreError> {
        let lane = delivery.lane.clone();
        self.store.plan(vec![delivery]).await?;
        self.nudge(&lane);
        Ok(())
    }

    /// Something is to be sent there.
    pub(crate) fn nudge(&self, lane: &Lane) {
        if let Some(account) = self.account(lane) {
            account.due.notify_one();
        }
    }

    /// A delivery has ended, one way or the other.
    pub(crate) fn delivered(&self) {
        self.settled.notify_waiters();
    }

    /// A restart is wanted, once what led to it is answered.
    pub(crate) fn want_restart(&self) {
        self.restart_wanted.store(true, Ordering::Release);
    }

    pub(crate) fn is_restart_wanted(&self) -> bool {
        self.restart_wanted.load(Ordering::Acquire)
    }

    pub(crate) fn ask_restart(&self) {
        self.restart.store(true, Ordering::Release);
        self.leave.notify_waiters();
    }

    /// Whether as much is undone as may be, or nothing can be stored.
    pub(crate) async fn is_full(&self) -> bool {
        let most = self.options().inbox_max;
        if self.host.free_bytes().is_some_and(|free| free < DISK_LEAST) {
            self.note_unstored(Some(DISK_FULL.to_owned()));
            return true;
        }
        if self.unstored.lock().as_deref() == Some(DISK_FULL) {
            self.note_unstored(None);
        }
        match self.store.undone().await {
            Ok(undone) => undone >= most,
            Err(error) => {
                warn!(%error, "the store does not answer; nothing is read");
                true
            }
        }
    }

    /// Whether what comes in can be stored: told by status, and by the log when it changes.
    pub(crate) fn note_storing(&self, error: Option<&StoreError>) {
        self.note_unstored(error.map(|error| format!("what comes in cannot be stored: {error}")));
    }

    fn note_unstored(&self, why: Option<String>) {
        let mut known = self.unstored.lock();
        if *known == why {
            return;
        }
        if let Some(why) = &why {
            warn!(why, "nothing is acknowledged");
        } else {
            warn!("what comes in can be stored again");
        }
        *known = why;
    }

    /// Waits while as much is undone as may be.
    pub(crate) async fn room(&self) {
        const LOOK: Duration = Duration::from_millis(500);
        while self.is_full().await {
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn has_due(&self) -> bool {
        let waiting = [DeliveryState::Planned, DeliveryState::Sending];
        self.store.deliveries(&waiting, 1).await.is_ok_and(|rows| !rows.is_empty())
    }

    /// Tells the owner on another account that this one needs somebody.
    pub(crate) async fn tell_operator(&self, troubled: &Account) {
        let (state, ..) = troubled.state();
        let body = format!("The account {} needs you: {state:?}", troubled.name());
        self.tell_home(&body, &format!("account-{}-{}", troubled.name(), now_ms())).await;
    }

    /// Tells the owner something at home, on an account that works.
    pub(crate) async fn tell_home(&self, body: &str, token: &str) {
        let Ok(targets) = self.store.targets(None).await else { return };
        let home = targets.into_iter().find(|target| {
            let account = self.account(&target.lane);
            let works = account.is_some_and(|account| account.takes_messages());
            target.home && target.unreachable.is_none() && works
        });
        let Some(home) = home else { return };
        let notice = NewDelivery {
            class: DeliveryClass::Notice,
            token: token.to_owned(),
            body: body.to_owned(),
            ..blank(&home.lane)
        };
        if let Err(error) = self.say(notice).await {
            warn!(%error, "the owner was not told");
        }
    }
}

/// A message with nothing in it yet.
pub(crate) fn blank(lane: &Lane) -> NewDelivery {
    NewDelivery {
        lane: lane.clone(),
        class: DeliveryClass::Notice,
        token: String::new(),
        body: String::new(),
        media: Vec::new(),
        buttons: Vec::new(),
        reply_to: None,
        inbox: None,
    }
}
