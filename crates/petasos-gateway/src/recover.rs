//! After a crash: every stored message goes on where it was, or says that it was cut off.

use std::sync::Arc;

use petasos_contract::message::Message;
use petasos_contract::wait::Owned;
use petasos_session::{Replay, Session, SessionEvent, StreamItem};
use petasos_store::{
    Amend, DeliveryClass, InboundKind, InboxRow, InboxState, Loaded, NewDelivery, StoreError,
};
use tracing::{info, warn};

use crate::gateway::{Shared, blank};
use crate::intake::Admitted;
use crate::platform::{Arrival, Sender};
use crate::turns::{ATTEMPTS_MAX, Ended};

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
}

/// Reads from a transcript how far a turn had come.
pub(crate) fn reached(loaded: &Loaded, turn: &str) -> Reached {
    let rows: Vec<_> = loaded
        .rows
        .iter()
        .filter(|row| row.stored.turn.as_ref().is_some_and(|id| id.as_str() == turn))
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
        let lane = message.key.lane();
        let Some(account) = self.account(&lane).cloned() else { return Ok(()) };
        let arrival = Arrival {
            chat_kind: message.key.kind,
            thread: message.key.thread.clone(),
            sender: Sender {
                id: Some(message.sender.clone()),
                machine: account.def.unattended.then(|| message.sender.clone()),
                ..Sender::default()
            },
            addressed: true,
            ..Arrival::text(&message.key.chat, &message.sender, &message.dedup, &message.text)
        };
        let access = self.access(&account, &arrival).await?;
        let Some(class) = access.class else {
            let gone = "its sender may no longer write";
            self.store.settle(&row.id, &[InboxState::Accepted], InboxState::Ignored, gone).await?;
            return Ok(());
        };
        let (session, busy) = self.route(&message.key, account.options().busy).await?;
        let admitted = Admitted {
            id: row.id.clone(),
            key: message.key.clone(),
            session,
            sender: message.sender.clone(),
            sender_name: message.sender_name.clone(),
            class,
            rule: access.rule,
            text: message.text.clone(),
            message: message.message.clone(),
            has_media: !message.media.is_empty(),
            busy,
        };
        if message.kind == InboundKind::Command {
            let shared = Arc::clone(self);
            self.runners.errand(Owned::start(async move { shared.command(admitted).await }));
            return Ok(());
        }
        self.settle_message(&admitted, message.sent_ms).await
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
                let blank = answer_blank(&row);
                let answer = self.answer_of(&row, &text, blank);
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
            Reached::Between | Reached::Call(_) => self.go_on(row, far).await?,
        }
        Ok(())
    }

    /// A turn that had begun calls: one that waits for a person goes on with its question; where an
    /// effect is unknown, the person decides.
    async fn go_on(self: &Arc<Self>, row: InboxRow, far: Reached) -> Result<(), StoreError> {
        let Some(id) = row.session.clone() else { return Ok(()) };
        let opened = self.open(&row.message.key, &id, &row.message.sender).await;
        let session = match opened {
            Ok(session) => session,
            Err(error) => {
                let text = format!("I was interrupted, and cannot go on: {error}");
                return self.cut_off(&row, &text).await;
            }
        };
        if session.view().await.is_ok_and(|view| view.busy) {
            let shared = Arc::clone(self);
            self.runners.errand(Owned::start(async move { shared.follow(row, session).await }));
            return Ok(());
        }
        let text = match far {
            Reached::Call(call) => {
                let call: String = self.host.redact(&call).chars().take(300).collect();
                format!(
                    "I was interrupted while this ran, and do not know whether it took effect:\n\n```\n{call}\n```\n\nSay `continue` to go on, or tell me what to do instead."
                )
            }
            _ => "I was interrupted in the middle of this. Say `continue` to go on.".to_owned(),
        };
        self.cut_off(&row, &text).await
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
        let notice = NewDelivery { body: text.to_owned(), ..answer_blank(row) };
        let notice = NewDelivery { class: DeliveryClass::Final, ..notice };
        self.store.finish(&row.id, InboxState::Interrupted, "cut off", vec![notice]).await?;
        self.nudge(&row.message.key.lane());
        Ok(())
    }
}

/// The answer to a message, with nothing in it yet.
fn answer_blank(row: &InboxRow) -> NewDelivery {
    NewDelivery {
        class: DeliveryClass::Final,
        token: format!("turn-{}", row.id),
        reply_to: Some(row.message.message.clone()).filter(|name| !name.is_empty()),
        inbox: Some(row.id.clone()),
        ..blank(&row.message.key.lane())
    }
}
