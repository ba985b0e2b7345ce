//! After a crash: every stored message goes on where it was, or says that it was cut off.

use std::sync::Arc;

use petasos_contract::TurnId;
use petasos_contract::message::Message;
use petasos_contract::wait::Owned;
use petasos_session::command;
use petasos_session::{INTERRUPTED, Input, Replay, Session, SessionEvent, StreamItem};
use petasos_store::{
    Amend, DeliveryClass, InboundKind, InboxRow, InboxState, Loaded, NewDelivery, StoreError,
};
use tracing::{info, warn};

use crate::access::{Access, Class};
use crate::account::Account;
use crate::commands::is_repeatable;
use crate::gateway::Shared;
use crate::offers::go_on_buttons;
use crate::options::BusyMode;
use crate::platform::{Arrival, Sender, now_ms};
use crate::turns::{ATTEMPTS_MAX, CUT_OFF, Ended};

/// Why a command is accepted and not answered: it was begun, in the session that follows.
pub(crate) const BEGUN: &str = "begun";

/// How far a turn had come when its process died.
#[derive(Debug, PartialEq)]
pub(crate) enum Reached {
    /// Nothing of it is stored.
    Nothing,
    /// Its message is stored, and nothing that followed from it: it can run again from this row.
    Asked(i64),
    /// Everything that it began has a result: it can go on.
    Between,
    /// This call has no result; it may have taken effect.
    Call(String),
    /// It had its reply.
    Replied(String),
    /// It was stopped.
    Stopped,
}

/// Whether a turn is that of a message, or goes on with it after a crash.
fn is_of(id: &str, turn: &str) -> bool {
    id.strip_prefix(turn).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
}

/// What a turn is told that goes on after a crash.
const GO_ON: &str = "[The program was restarted while you worked on this. Everything that you \
                     began has its result above. Go on from there.]";

/// Reads from a transcript how far a turn had come.
pub(crate) fn reached(loaded: &Loaded, turn: &str) -> Reached {
    let rows: Vec<_> = loaded
        .rows
        .iter()
        .filter(|row| row.stored.turn.as_ref().is_some_and(|id| is_of(id.as_str(), turn)))
        .collect();
    let Some(first) = rows.first() else { return Reached::Nothing };
    let answered = |id: &petasos_contract::CallId| {
        loaded.rows.iter().any(|row| matches!(&row.stored.message, Message::Tool(result) if result.tool_call_id == *id))
    };
    let mut last_reply = None;
    for row in &rows {
        if let Message::Assistant(said) = &row.stored.message {
            last_reply = Some(said);
            for call in &said.tool_calls {
                if !answered(&call.id) {
                    return Reached::Call(format!("{} {}", call.name, call.arguments));
                }
            }
        }
    }
    if rows.last().is_some_and(|row| row.stored.note.as_deref() == Some(INTERRUPTED)) {
        return Reached::Stopped;
    }
    match (last_reply, rows.last().map(|row| &row.stored.message)) {
        (None, _) => Reached::Asked(first.seq),
        (Some(said), Some(Message::Assistant(_))) if said.tool_calls.is_empty() => {
            Reached::Replied(said.text().to_owned())
        }
        _ => Reached::Between,
    }
}

impl Shared {
    /// Takes over what another process left.
    pub(crate) async fn recover(self: &Arc<Self>) -> Result<(), StoreError> {
        let uncertain = self.store.recover_sending().await?;
        let orphans = self.store.orphans().await?;
        if uncertain > 0 || !orphans.is_empty() {
            info!(messages = orphans.len(), deliveries = uncertain, "going on after a crash");
        }
        for row in orphans {
            let done = match row.state {
                InboxState::Accepted => self.decide_again(row).await,
                _ => self.take_up(row).await,
            };
            if let Err(error) = done {
                warn!(%error, "a message of an earlier process is left as it is");
            }
        }
        for session in self.store.waiting_sessions().await? {
            self.wake(&session);
        }
        Ok(())
    }

    /// A message that was stored and not decided.
    async fn decide_again(self: &Arc<Self>, row: InboxRow) -> Result<(), StoreError> {
        let message = &row.message;
        if message.kind == InboundKind::Command && row.reason.starts_with(BEGUN) {
            return self.after_cut_command(&row).await;
        }
        if message.kind == InboundKind::Internal {
            let (session, _) = self.route(&message.key, BusyMode::Queue).await?;
            self.store.queue(&row.id, &session, u32::MAX).await?;
            return Ok(());
        }
        let Some(admitted) = self.admitted_again(&row).await? else { return Ok(()) };
        if message.kind == InboundKind::Command {
            let shared = Arc::clone(self);
            self.runners.errand(Owned::start(async move { shared.command(admitted).await }));
            return Ok(());
        }
        self.settle_message(&admitted, message.sent_ms).await
    }

    /// Who the sender of a stored message is now. What only the platform knows of them is remembered
    /// while this process lives; where roles let people in, an earlier word counts after a restart.
    pub(crate) async fn standing(
        &self,
        account: &Account,
        row: &InboxRow,
    ) -> Result<Access, StoreError> {
        let message = &row.message;
        let known = self.senders.lock().get(&row.id).cloned();
        let forgotten = known.is_none() && !account.options().roles.is_empty();
        let sender = known.unwrap_or_else(|| Sender {
            id: Some(message.sender.clone()),
            machine: account.def.unattended.then(|| message.sender.clone()),
            ..Sender::default()
        });
        let arrival = Arrival {
            chat_kind: message.key.kind,
            thread: message.key.thread.clone(),
            sender,
            addressed: true,
            ..Arrival::text(&message.key.chat, &message.sender, &message.dedup, &message.text)
        };
        let access = self.access(account, &arrival).await?;
        if access.class.is_none() && forgotten {
            return Ok(Access {
                class: Some(Class::User),
                rule: "let in before",
                asked: access.asked,
            });
        }
        Ok(access)
    }

    /// Whether the sender of a message that waited may still write (T24).
    pub(crate) async fn may_still_run(&self, row: &InboxRow) -> Result<bool, StoreError> {
        let account = self.account(&row.message.key.lane());
        let Some(account) = account.filter(|_| row.message.kind != InboundKind::Internal) else {
            return Ok(true);
        };
        let access = self.standing(&account, row).await?;
        self.senders.lock().remove(&row.id);
        if access.class.is_none() {
            let gone = "its sender may no longer write";
            info!(id = row.id, rule = access.rule, gone);
            self.store.finish(&row.id, InboxState::Ignored, gone, Vec::new()).await?;
        }
        Ok(access.class.is_some())
    }

    /// Remembers who wrote something that waits.
    pub(crate) fn remember_sender(&self, id: &str, sender: &Sender) {
        const WAITING_MAX: usize = 20_000;
        let mut senders = self.senders.lock();
        if senders.len() < WAITING_MAX {
            senders.insert(id.to_owned(), sender.clone());
        }
    }

    /// A command that was begun and not answered: what can be done twice is, what was done is said,
    /// and nothing else is done a second time.
    async fn after_cut_command(self: &Arc<Self>, row: &InboxRow) -> Result<(), StoreError> {
        let Some(admitted) = self.admitted_again(row).await? else { return Ok(()) };
        let (name, _) = command::split(&row.message.text).unwrap_or_default();
        let before = row.reason.trim_start_matches(BEGUN).trim();
        let said = match name.as_str() {
            "new" | "reset" if admitted.session.as_str() != before => {
                "New conversation.".to_owned()
            }
            "restart" => "Restarted.".to_owned(),
            name if is_repeatable(name) => {
                let shared = Arc::clone(self);
                self.runners.errand(Owned::start(async move { shared.command(admitted).await }));
                return Ok(());
            }
            name => format!(
                "I was interrupted during /{name}, and do not know whether it took effect: look, and send it again if it did not."
            ),
        };
        self.end_with(&admitted, "cut off", said).await
    }

    /// A message whose turn was cut off.
    async fn take_up(self: &Arc<Self>, row: InboxRow) -> Result<(), StoreError> {
        let Some(session) = row.session.clone() else { return Ok(()) };
        let loaded = match self.conversations.load(&session).await {
            Ok(loaded) => Some(loaded),
            Err(StoreError::NotFound { .. }) => None,
            Err(error) => return Err(error),
        };
        let far = loaded.as_ref().map_or(Reached::Nothing, |loaded| reached(loaded, &row.id));
        info!(id = row.id, ?far, attempts = row.attempts, "a turn was cut off");
        self.find_shown(&row.message.key.lane(), &row.id).await;
        match far {
            Reached::Replied(text) => {
                let answer = self.answer_of(&row, &text, crate::turns::answer_blank(&row));
                self.store.finish(&row.id, InboxState::Answered, "", answer).await?;
            }
            _ if row.attempts >= ATTEMPTS_MAX => {
                let text = "I was interrupted again and again while I worked on this, so I stopped. Say `continue` to go on.";
                self.cut_off(&row, text).await?;
            }
            Reached::Nothing => {
                self.store.requeue(&row.id).await?;
            }
            Reached::Asked(seq) => {
                self.conversations.amend(&session, Amend::Rewind(seq)).await?;
                self.store.requeue(&row.id).await?;
            }
            Reached::Between if self.goes_on_by_itself(&row) => {
                self.store.requeue(&row.id).await?;
            }
            Reached::Stopped => self.cut_off(&row, CUT_OFF).await?,
            Reached::Between | Reached::Call(_) => self.go_on(row, far).await?,
        }
        Ok(())
    }

    /// Whether a turn between two calls goes on without anybody being asked.
    fn goes_on_by_itself(&self, row: &InboxRow) -> bool {
        let options = self.options();
        let age = u64::try_from(now_ms() - row.received_ms).unwrap_or(0);
        options.resumes && age < u64::try_from(options.resume_within.as_millis()).unwrap_or(0)
    }

    /// The input of a turn that was begun before and stood between two calls: it goes on.
    pub(crate) async fn input_of_rest(&self, row: &InboxRow) -> Option<Input> {
        if row.attempts < 2 {
            return None;
        }
        let loaded = self.conversations.load(row.session.as_ref()?).await.ok()?;
        if reached(&loaded, &row.id) != Reached::Between {
            return None;
        }
        let turn = TurnId::new(format!("{}+{}", row.id, row.attempts).as_str());
        Some(Input { turn: Some(turn), ..GO_ON.into() })
    }

    /// A turn that had begun calls: one that waits for a person goes on with its question; where an
    /// effect is unknown, the person decides.
    async fn go_on(self: &Arc<Self>, row: InboxRow, far: Reached) -> Result<(), StoreError> {
        let Some(id) = row.session.clone() else { return Ok(()) };
        // A turn that waits for a person goes on with its opening.
        self.begin_running(&row);
        let opened = self.open(&row.message.key, &id, &row.message.sender).await;
        let session = match opened {
            Ok(session) => session,
            Err(error) => {
                self.end_running(&row.id);
                let text = format!("I was interrupted, and cannot go on: {error}");
                return self.cut_off(&row, &text).await;
            }
        };
        if session.view().await.is_ok_and(|view| view.busy) {
            let shared = Arc::clone(self);
            self.runners.errand(Owned::start(async move { shared.follow(row, session).await }));
            return Ok(());
        }
        self.end_running(&row.id);
        let buttons = self.account(&row.message.key.lane()).is_some_and(|it| it.has_buttons());
        let text = match far {
            Reached::Call(call) => {
                let call: String = self.host.redact(&call).chars().take(300).collect();
                format!(
                    "I was interrupted while this ran, and do not know whether it took effect:\n\n```\n{call}\n```\n\nSay `continue` to go on, or tell me what to do instead."
                )
            }
            _ => CUT_OFF.to_owned(),
        };
        let buttons = if buttons { go_on_buttons(&row) } else { Vec::new() };
        let notice = NewDelivery { body: text, buttons, ..crate::turns::answer_blank(&row) };
        self.store.finish(&row.id, InboxState::Interrupted, "cut off", vec![notice]).await?;
        self.nudge(&row.message.key.lane());
        Ok(())
    }

    /// Follows a turn that went on by itself when its session was opened.
    async fn follow(self: Arc<Self>, row: InboxRow, session: Session) {
        let mut events = session.events(Replay::Turn);
        if let Some(question) = session.question()
            && let Err(error) = self.ask(&row, &session, &question).await
        {
            warn!(%error, "a question did not reach the chat");
        }
        let mut turns = session.events(Replay::Turn);
        let end = async {
            loop {
                match turns.next().await {
                    Some(StreamItem::Event(envelope)) => {
                        if let SessionEvent::TurnEnded { end, .. } = &envelope.event {
                            return Some(end.clone());
                        }
                    }
                    Some(StreamItem::Gap { .. }) => {}
                    None => return None,
                }
            }
        };
        let end = std::pin::pin!(end);
        let ended: Ended = self.watch(&row, &session, &mut events, (end, None, None)).await;
        if let Err(error) = self.finish(&row, ended, None).await {
            warn!(%error, id = row.id, "the end of a turn is not stored");
        }
        if let Some(session) = &row.session {
            self.wake(session);
        }
    }

    async fn cut_off(&self, row: &InboxRow, text: &str) -> Result<(), StoreError> {
        let notice = NewDelivery { body: text.to_owned(), ..crate::turns::answer_blank(row) };
        let notice = NewDelivery { class: DeliveryClass::Final, ..notice };
        self.store.finish(&row.id, InboxState::Interrupted, "cut off", vec![notice]).await?;
        self.nudge(&row.message.key.lane());
        Ok(())
    }
}
