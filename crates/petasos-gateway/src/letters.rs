//! What sessions do unasked reaches their chats, and the end of a turn is stored with its answer.
//!
//! A job that ended, or guidance that came too late, waits as a message of our own behind those of
//! people; its turn is answered like any other. What came of a task beside the conversation is
//! sent. Where the chat has begun another conversation meanwhile, words for the old one are only
//! told.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use petasos_contract::wait;
use petasos_contract::{BoxFuture, SessionId, TurnId};
use petasos_session::{Closing, Correspondent, Letter, Outcome};
use petasos_store::{
    Answer, ChatKey, ChatRoute, DeliveryClass, InboundKind, InboundMessage, InboxRow, InboxState,
    NewDelivery, Receipt, Row, SessionScope, StoreError,
};
use tracing::{info, warn};

use crate::gateway::{Shared, blank};
use crate::platform::now_ms;

/// So many chats of a platform are looked at.
const ROUTES_MAX: u32 = 1000;
/// So long an answer waits for the words on the screen that it replaces.
const COMPOSED_MAX: Duration = Duration::from_secs(10);

/// The gateway, as sessions know it.
pub(crate) struct Letters(pub(crate) Weak<Shared>);

impl std::fmt::Debug for Letters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Letters").finish_non_exhaustive()
    }
}

impl Closing for Letters {
    fn row(&self, turn: &TurnId, outcome: Outcome, text: &str) -> Option<Row> {
        let shared = self.0.upgrade()?;
        let row = shared.running_row(turn.as_str())?;
        let deliveries = shared.answer_of(&row, text, crate::turns::answer_blank(&row));
        info!(id = row.id, outcome = outcome.as_str(), "a turn is stored with its answer");
        Some(Row::Answers(Box::new(Answer {
            inbox: row.id,
            to: InboxState::Answered,
            reason: String::new(),
            deliveries,
        })))
    }
}

impl Correspondent for Letters {
    fn carry<'a>(&'a self, session: &'a SessionId, letter: Letter) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Some(shared) = self.0.upgrade() else { return false };
            shared.carry(session, letter).await.unwrap_or_else(|error| {
                warn!(%error, %session, "what a session has to say reached nobody");
                false
            })
        })
    }
}

impl Shared {
    /// The stored message whose turn runs here under this name.
    pub(crate) fn running_row(&self, turn: &str) -> Option<InboxRow> {
        let id = turn.split('+').next().unwrap_or(turn);
        self.running.lock().get(id).cloned()
    }

    /// From here on the turn of a message is stored together with its answer.
    pub(crate) fn begin_running(&self, row: &InboxRow) {
        self.running.lock().insert(row.id.clone(), row.clone());
    }

    /// A chat has another identity now: what its running turns say goes there.
    pub(crate) fn rename_running(&self, (platform, account): (&str, &str), from: &str, to: &str) {
        for row in self.running.lock().values_mut() {
            let key = &mut row.message.key;
            if key.platform == platform && key.account == account && key.chat == from {
                to.clone_into(&mut key.chat);
            }
        }
    }

    /// Everything about the turn of a message is done; its answer may go.
    pub(crate) fn end_running(&self, id: &str) {
        self.running.lock().remove(id);
        self.composed.notify_waiters();
    }

    /// Comes back when nothing more is shown of the turn that this answers.
    pub(crate) async fn composed(&self, id: &str) {
        let gone = async {
            loop {
                let news = self.composed.notified();
                tokio::pin!(news);
                news.as_mut().enable();
                if !self.running.lock().contains_key(id) {
                    return;
                }
                news.await;
            }
        };
        let until = Instant::now() + COMPOSED_MAX;
        if wait::until(until, "the words that an answer replaces", gone).await.is_err() {
            warn!(id, "an answer no longer waits for the words that it replaces");
        }
    }

    async fn carry(
        self: &Arc<Self>,
        session: &SessionId,
        letter: Letter,
    ) -> Result<bool, StoreError> {
        let routes = self.store.routes_to(session).await?;
        let route = routes.into_iter().max_by_key(|route| route.used_ms);
        match (route, letter) {
            (Some(route), Letter::ToModel(words)) => self.queue_own(&route, session, words).await?,
            (Some(route), Letter::ToPeople(text)) => self.tell(&route.key, text).await?,
            (None, Letter::ToModel(text) | Letter::ToPeople(text)) => {
                let Some(key) = self.chat_of(session).await? else { return Ok(false) };
                let text = format!("From an earlier conversation (`/resume {session}`):\n\n{text}");
                self.tell(&key, text).await?;
            }
        }
        Ok(true)
    }

    /// Words for the model wait behind those of people.
    async fn queue_own(
        self: &Arc<Self>,
        route: &ChatRoute,
        session: &SessionId,
        text: String,
    ) -> Result<(), StoreError> {
        let owner = match self.conversations.find(session.as_str(), &SessionScope::Everyone).await {
            Ok(head) => head.owner.and_then(|owner| owner.user),
            Err(_) => None,
        };
        let message = InboundMessage {
            key: route.key.clone(),
            sender: owner.map(|user| user.to_string()).unwrap_or_default(),
            sender_name: String::new(),
            dedup: format!("own-{}", self.host.new_session()),
            message: String::new(),
            sent_ms: now_ms(),
            kind: InboundKind::Internal,
            text,
            media: Vec::new(),
        };
        let Receipt::New(id) = self.store.accept(&message).await? else { return Ok(()) };
        info!(id, %session, "a session has something for its model");
        self.store.queue(&id, session, u32::MAX).await?;
        self.wake(session);
        Ok(())
    }

    async fn tell(&self, key: &ChatKey, text: String) -> Result<(), StoreError> {
        self.say(NewDelivery {
            class: DeliveryClass::Final,
            token: format!("own-{}", self.host.new_session()),
            body: self.host.redact(&text),
            ..blank(&key.lane())
        })
        .await
    }

    /// The chat in which a conversation was held that no chat holds now.
    async fn chat_of(&self, session: &SessionId) -> Result<Option<ChatKey>, StoreError> {
        let head = match self.conversations.find(session.as_str(), &SessionScope::Everyone).await {
            Ok(head) => head,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(owner) = head.owner else { return Ok(None) };
        let routes = self.store.routes_of(owner.platform.as_str(), ROUTES_MAX).await?;
        let is_it = |key: &ChatKey| {
            let (user, thread) = (owner.user.as_ref(), owner.thread.as_ref());
            let theirs = key.user.is_none() || key.user.as_deref() == user.map(AsRef::as_ref);
            let there = key.thread.as_deref() == thread.map(AsRef::as_ref);
            key.chat == owner.chat.as_str() && there && theirs
        };
        Ok(routes.into_iter().map(|route| route.key).find(is_it))
    }
}
