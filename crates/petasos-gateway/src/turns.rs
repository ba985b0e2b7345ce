//! Turns of chats: one at a time in a session, as many at once as may, in the order of arrival.

use crate::render::add;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::event::Event;
use petasos_contract::wait::Owned;
use petasos_contract::{Address, SessionId, TurnId};
use petasos_session::{
    Admission, Begin, Outcome, Replay, Session, SessionError, TurnEnd, WhenBusy,
};
use petasos_store::{
    ChatKey, DeliveryClass, InboxRow, InboxState, MediaFile, NewDelivery, SessionScope, StoreError,
};
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::access::{self, AccessFacts, Standing};
use crate::elsewhere;
use crate::gateway::{Shared, blank};
use crate::media;
use crate::options::BusyMode;
use crate::platform::Sender;
use crate::render;
use crate::routing::notes_for;
use crate::stage::{Stage, answer_token};

/// So many messages and characters become one turn where a chat collects.
const COLLECTED_MAX: usize = 8;
const COLLECTED_CHARS_MAX: usize = 16_000;
/// At most one word that something is queued, for each session, in this time.
const ACKNOWLEDGED: Duration = Duration::from_secs(30);
/// A turn that was begun so often and never ended is not begun again by itself.
pub(crate) const ATTEMPTS_MAX: u32 = 3;

pub(crate) const CUT_OFF: &str =
    "I was interrupted in the middle of this. Say `continue` to go on.";

/// Why a turn was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// A newer message takes its place.
    Superseded,
    /// Somebody said stop.
    Stopped,
    /// The gateway stops.
    Drain,
    /// Everything was stopped.
    Emergency,
    /// Nothing happened in it for too long.
    Quiet,
}

/// The tasks that work through the queues of sessions.
#[derive(Default)]
pub(crate) struct Runners {
    working: Mutex<HashMap<SessionId, Runner>>,
    errands: Mutex<Vec<Owned<()>>>,
    acknowledged: Mutex<HashMap<SessionId, Instant>>,
    changed: Notify,
}

struct Runner {
    /// More came while it was looking.
    again: bool,
    running: bool,
    /// Others that work for its turn now: it is not interrupted by words.
    helpers: usize,
    task: Option<Owned<()>>,
}

impl Runners {
    pub(crate) fn count(&self) -> usize {
        self.working.lock().len()
    }

    pub(crate) fn sessions(&self) -> Vec<SessionId> {
        self.working.lock().keys().cloned().collect()
    }

    /// Whether a turn of the session runs.
    pub(crate) fn is_working(&self, session: &SessionId) -> bool {
        self.working.lock().get(session).is_some_and(|runner| runner.running)
    }

    fn set_running(&self, session: &SessionId, running: bool) {
        if let Some(runner) = self.working.lock().get_mut(session) {
            runner.running = running;
            runner.helpers = 0;
        }
    }

    /// Whether others work for the turn of a session.
    pub(crate) fn has_helpers(&self, session: &SessionId) -> bool {
        self.working.lock().get(session).is_some_and(|runner| runner.helpers > 0)
    }

    /// Others begin and end to work for the turn of a session.
    pub(crate) fn note(&self, session: &SessionId, event: &Event) {
        let change = match event {
            Event::SubagentStarted { .. } => 1,
            Event::SubagentEnded { .. } => -1,
            _ => return,
        };
        if let Some(runner) = self.working.lock().get_mut(session) {
            runner.helpers = runner.helpers.saturating_add_signed(change);
        }
    }

    /// Whether the session has not been told lately that something waits.
    pub(crate) fn may_acknowledge(&self, session: &SessionId) -> bool {
        let mut told = self.acknowledged.lock();
        told.retain(|_, at| at.elapsed() < ACKNOWLEDGED);
        if told.contains_key(session) {
            return false;
        }
        told.insert(session.clone(), Instant::now());
        true
    }

    /// Keeps a task until it has ended.
    pub(crate) fn errand(&self, task: Owned<()>) {
        let mut errands = self.errands.lock();
        errands.retain(|errand| !errand.is_finished());
        errands.push(task);
    }

    /// Ends everything at once, as the end of the process would: tasks hold what holds them.
    pub(crate) fn abandon(&self) {
        let working = std::mem::take(&mut *self.working.lock());
        let errands = std::mem::take(&mut *self.errands.lock());
        drop((working, errands));
    }

    /// Comes back when nothing works.
    pub(crate) async fn idle(&self) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.working.lock().is_empty() {
                return;
            }
            changed.await;
        }
    }

    /// Nothing is left to do, unless more came meanwhile; whether that is so.
    fn ends(&self, session: &SessionId) -> bool {
        let mut working = self.working.lock();
        if let Some(runner) = working.get_mut(session)
            && runner.again
        {
            runner.again = false;
            return false;
        }
        let ended = working.remove(session);
        drop(working);
        // Its own task must not be aborted while it ends.
        if let Some(task) = ended.and_then(|runner| runner.task) {
            self.errand(task);
        }
        self.changed.notify_waiters();
        true
    }
}

impl Shared {
    /// Works through what waits for a session.
    pub(crate) fn wake(self: &Arc<Self>, session: &SessionId) {
        if self.draining.load(Ordering::Acquire) || self.host.stopped().is_some() {
            return;
        }
        let mut working = self.runners.working.lock();
        if let Some(runner) = working.get_mut(session) {
            runner.again = true;
            return;
        }
        let runner = Runner { again: false, running: false, helpers: 0, task: None };
        working.insert(session.clone(), runner);
        drop(working);
        let (shared, own) = (Arc::clone(self), session.clone());
        let task = Owned::start(async move { shared.work(own).await });
        if let Some(runner) = self.runners.working.lock().get_mut(session) {
            runner.task = Some(task);
        } else {
            self.runners.errand(task);
        }
    }

    async fn work(self: Arc<Self>, session: SessionId) {
        loop {
            // Taken anew for each turn, in the order of asking: one turn of a chat a round.
            let Ok(slot) = self.slots.acquire().await else { break };
            let next = match self.store.claim(&session).await {
                Ok(Some(row)) if self.host.stopped().is_none() => Some(row),
                Ok(Some(row)) => {
                    drop(self.store.requeue(&row.id).await);
                    None
                }
                Ok(None) => None,
                Err(error) => {
                    warn!(%error, %session, "the next message is not known");
                    None
                }
            };
            if let Some(row) = next {
                let row = self.collected(row).await;
                self.runners.set_running(&session, true);
                self.one_turn(row).await;
                self.runners.set_running(&session, false);
                continue;
            }
            drop(slot);
            if self.runners.ends(&session) {
                return;
            }
        }
        while !self.runners.ends(&session) {}
    }

    /// Where a chat collects, words that wait behind a message join it.
    async fn collected(&self, row: InboxRow) -> InboxRow {
        let key = &row.message.key;
        let usual = self.account(&key.lane()).map(|account| account.options().busy);
        let route = self.store.route(key).await.ok().flatten();
        let chosen = route.as_ref().and_then(|route| route.choices.get("busy"));
        let chosen = chosen.and_then(serde_json::Value::as_str).and_then(BusyMode::named);
        if chosen.or(usual) != Some(BusyMode::Collect) {
            return row;
        }
        match self.store.collect(&row.id, COLLECTED_MAX, COLLECTED_CHARS_MAX).await {
            Ok(Some(joined)) => joined,
            Ok(None) => row,
            Err(error) => {
                warn!(%error, id = row.id, "waiting words stay messages of their own");
                row
            }
        }
    }

    /// Stops the turn of a session; whether one ran.
    pub(crate) fn interrupt(&self, session: &SessionId, why: StopReason) -> bool {
        let Some(open) = self.sessions.find(session) else { return false };
        if self.runners.is_working(session) {
            self.stops.lock().insert(session.clone(), why);
        }
        open.interrupt()
    }

    /// The session of a chat, opened where it is not.
    pub(crate) async fn open(
        &self,
        key: &ChatKey,
        id: &SessionId,
        sender: &str,
    ) -> Result<Session, SessionError> {
        let address = Arc::new(Address {
            platform: key.platform.as_str().into(),
            chat: key.chat.as_str().into(),
            thread: key.thread.as_deref().map(Into::into),
            user: key.user.as_deref().or(Some(sender)).filter(|it| !it.is_empty()).map(Into::into),
        });
        let account = self.account(&key.lane());
        let attended = account.as_ref().is_some_and(|account| !account.def.unattended);
        self.host.placed(id, &address, attended);
        if let Some(open) = self.sessions.find(id) {
            return Ok(open);
        }
        let def = account.map_or(&crate::platform::PlatformDef::USUAL, |account| account.def);
        let mut choice = Box::new(self.host.choice(def, &address));
        choice.notes = notes_for(key, &address, self.has_home_notes(key, sender).await?);
        match self.conversations.find(id.as_str(), &SessionScope::Everyone).await {
            Ok(_) => self.sessions.open(Begin::Resume { session: id.clone(), choice }).await,
            Err(StoreError::NotFound { .. }) => {
                // Everybody in a shared conversation owns it; another is its person's alone.
                let alone = key.user.is_some() || !key.kind.is_shared();
                let user = address.user.clone().filter(|_| alone);
                choice.new.owner = Some(Address { user, ..(*address).clone() });
                choice.new.id = Some(id.clone());
                self.sessions.open(Begin::New { choice, after: None }).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a chat shares the notes of the home: the owner's own does, others only where the
    /// settings say so. In a shared chat everybody would read them.
    async fn has_home_notes(&self, key: &ChatKey, sender: &str) -> Result<bool, StoreError> {
        let options = self.options();
        if options.shared_notes {
            return Ok(true);
        }
        if key.kind.is_shared() {
            return Ok(false);
        }
        let person = Sender { id: Some(sender.to_owned()), ..Sender::default() };
        let paired = self.store.paired(Some(&key.platform)).await?;
        let facts = AccessFacts {
            platform: &key.platform,
            chat: &key.chat,
            kind: key.kind,
            sender: &person,
            addressed: true,
            standing: Standing::of(Some(sender), &paired),
        };
        Ok(access::is_owner(&facts, &options))
    }

    /// One turn, from a stored message to its stored answer.
    async fn one_turn(self: &Arc<Self>, row: InboxRow) {
        self.counters.turns.fetch_add(1, Ordering::Relaxed);
        let Some(id) = row.session.clone() else { return };
        let key = row.message.key.clone();
        match self.may_still_run(&row).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => warn!(%error, id = row.id, "who may write is not known"),
        }
        let began = Instant::now();
        self.begin_running(&row);
        let ended = match self.open(&key, &id, &row.message.sender).await {
            Err(error) => Ended::Failed(error.to_string()),
            Ok(session) => self.carry_out(&row, &session).await,
        };
        let aloud = self.to_say(&row, &ended).await;
        let why = self.stops.lock().remove(&id);
        if let Err(error) = self.finish(&row, ended, why).await {
            warn!(%error, id = row.id, "the end of a turn is not stored");
        }
        if let Some(text) = aloud {
            self.say_aloud(&row, text);
        }
        let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        info!(id = row.id, session = %id, took_ms, "a turn ended");
    }

    /// Carries out the turn of a message.
    async fn carry_out(self: &Arc<Self>, row: &InboxRow, session: &Session) -> Ended {
        let mut events = session.events(Replay::Now);
        self.begin_footer(row, session).await;
        let input = match self.input_of_rest(row).await {
            Some(rest) => rest,
            None => match self.with_skill(row, session).await {
                Ok(input) => {
                    let input = self.with_copies(self.with_words(input, row).await, row).await;
                    petasos_session::Input { turn: Some(TurnId::new(row.id.as_str())), ..input }
                }
                Err(why) => return Ended::Failed(why),
            },
        };
        let handle = match session.submit(input, WhenBusy::Queue).await {
            Ok(Admission::Started(handle) | Admission::Queued { turn: handle, .. }) => handle,
            Ok(Admission::Steered) => return Ended::Silent,
            Err(error) => return Ended::Failed(error.to_string()),
        };
        let typing = self.typing(&row.message.key);
        let mut stage = Stage::new(self, row, self.chosen_progress(&row.message.key).await);
        let end = std::pin::pin!(handle.end());
        let ended = self.watch(row, session, &mut events, (end, typing, stage.as_mut())).await;
        if let Some(stage) = &mut stage {
            stage.rest().await;
        }
        if let Some(shown) = stage.and_then(Stage::end) {
            self.leave_shown(row, shown, &ended).await;
        }
        ended
    }

    /// Ends a message together with its answer, where that was not stored with its turn.
    pub(crate) async fn finish(
        &self,
        row: &InboxRow,
        ended: Ended,
        why: Option<StopReason>,
    ) -> Result<(), StoreError> {
        let lane = row.message.key.lane();
        let answer = |class, body: String| NewDelivery { class, body, ..answer_blank(row) };
        let (state, reason, deliveries) = match ended {
            Ended::Turn(end) if end.outcome == Outcome::Interrupted => {
                let (state, reason, text) = match why {
                    Some(StopReason::Superseded) => {
                        (InboxState::Interrupted, "a newer message", None)
                    }
                    Some(StopReason::Stopped) => (InboxState::Interrupted, "stopped", None),
                    Some(StopReason::Emergency) => {
                        (InboxState::Interrupted, "everything was stopped", None)
                    }
                    Some(StopReason::Quiet) => {
                        let minutes =
                            self.options().turn_idle.map_or(0, |limit| limit.as_secs() / 60);
                        let text = format!(
                            "Nothing happened for {minutes} minutes, so I stopped. Say `continue` to go on."
                        );
                        (InboxState::Interrupted, "nothing happened", Some(text))
                    }
                    Some(StopReason::Drain) | None => {
                        (InboxState::Interrupted, "interrupted", Some(CUT_OFF.to_owned()))
                    }
                };
                (
                    state,
                    reason,
                    text.map(|text| answer(DeliveryClass::Notice, text)).into_iter().collect(),
                )
            }
            Ended::Turn(end) => {
                (InboxState::Answered, "", self.answer_of(row, &end.text, answer_blank(row)))
            }
            Ended::Failed(why) => {
                let text = self.host.redact(&format!("That did not work: {}", first_line(&why)));
                (InboxState::Failed, "failed", vec![answer(DeliveryClass::Final, text)])
            }
            Ended::Silent => (InboxState::Answered, "silent", Vec::new()),
        };
        let stored = self.store.finish(&row.id, state, reason, deliveries).await;
        self.end_running(&row.id);
        self.nudge(&lane);
        stored.map(drop)
    }

    /// The deliveries of a reply: its words, and the files that it names and may send.
    pub(crate) fn answer_of(
        &self,
        row: &InboxRow,
        reply: &str,
        blank: NewDelivery,
    ) -> Vec<NewDelivery> {
        if render::is_silence(reply) {
            return Vec::new();
        }
        let (mut text, directives) = render::directives(reply);
        let mut files: Vec<MediaFile> = Vec::new();
        let account = self.account(&blank.lane);
        let most = account.map_or(0, |account| account.def.media_bytes_max);
        for render::Directive::Media(path) in directives {
            let strict = row.message.key.kind.is_shared();
            match media::sendable(Path::new(&path), &self.media_rules(strict, most)) {
                Ok(file) => files.push(file),
                // What was made elsewhere is fetched when it is sent.
                Err(_) if most > 0 && self.is_elsewhere(row) => {
                    files.extend(elsewhere::file(row, &path));
                }
                Err(why) => add(&mut text, format_args!("\n\n(file not sent: {why})")),
            }
        }
        if text.trim().is_empty() && files.is_empty() {
            return Vec::new();
        }
        vec![NewDelivery { body: self.with_footer(row, text), media: files, ..blank }]
    }

    fn media_rules(&self, strict: bool, bytes_max: u64) -> media::MediaRules {
        let settings = self.settings.lock().clone();
        media::MediaRules::of(&settings, &self.options(), strict, bytes_max)
    }
}

/// How a turn ended, for the chat.
pub(crate) enum Ended {
    /// As turns do.
    Turn(Box<TurnEnd>),
    /// Not at all, for this reason.
    Failed(String),
    /// With nothing to say.
    Silent,
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(400).collect()
}

/// The answer to a message, with nothing in it yet.
pub(crate) fn answer_blank(row: &InboxRow) -> NewDelivery {
    NewDelivery {
        class: DeliveryClass::Final,
        token: answer_token(&row.id),
        reply_to: Some(row.message.message.clone()).filter(|name| !name.is_empty()),
        inbox: Some(row.id.clone()),
        ..blank(&row.message.key.lane())
    }
}
