//! Webhooks out: what happens, told to other programs, and messages whose target is one of them.
//! Signed as Standard Webhooks, in order, again until they arrive or are given up; what was given up
//! stays in the outbox.

mod comment;
mod receiver;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use petasos_contract::Settings;
use petasos_contract::delivery::{Delivered, Destination, Parcel, Receipt, TargetError};
use petasos_net::{Follow, Method, Net, Request};
use petasos_store::{
    Attempt, DeliveryClass, DeliveryState, Lane, NewDelivery, OutboxRow, OutboxStore, StoreError,
};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use self::comment::Comments;
use self::receiver::Receiver;
use crate::options::OptionsError;
use crate::runs::{ms, new_id, now_ms};
use crate::webhooks::key_bytes;

/// Where they stand in the outbox.
const PLATFORM: &str = "webhook";
const ACCOUNT: &str = "out";
const KEY: &str = "gateway.webhooks_out";
/// What is told.
const EVENTS: &[&str] = &[
    "turn_ended",
    "approval_opened",
    "approval_closed",
    "cron_finished",
    "delivery_dead",
    "account_state",
];
/// How long after each failure the next try comes; behind the last one it is given up.
const AGAIN: [Duration; 7] = [
    Duration::from_secs(5),
    Duration::from_mins(5),
    Duration::from_mins(30),
    Duration::from_hours(2),
    Duration::from_hours(5),
    Duration::from_hours(10),
    Duration::from_hours(24),
];
/// What is noted of a receiver that is gone.
const GONE: &str = "the receiver is gone (410)";
/// How long a receiver may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// The outbox is looked at so often, besides when something is told.
const LOOK: Duration = Duration::from_secs(5);
/// So many go at once.
const TOGETHER: u32 = 16;
/// So many that were given up are looked at, if they were planned so lately.
const DEAD_MAX: u32 = 200;
const DEAD_AGE: Duration = Duration::from_hours(48);
/// How often whoever waits for a message looks.
const WAIT_LOOK: Duration = Duration::from_millis(50);

/// Tells other programs what happens.
pub struct Outgoing {
    receivers: Vec<Receiver>,
    comments: Comments,
    /// Those that said they are gone for good.
    gone: Mutex<BTreeSet<String>>,
    outbox: Arc<dyn OutboxStore>,
    net: Arc<Net>,
    told: Notify,
}

impl std::fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outgoing").field("receivers", &self.receivers).finish_non_exhaustive()
    }
}

impl Outgoing {
    /// Those of the settings.
    pub fn read(
        settings: &Settings,
        outbox: Arc<dyn OutboxStore>,
        net: Arc<Net>,
    ) -> Result<Arc<Self>, OptionsError> {
        let receivers = receiver::all(settings)?;
        let comments = Comments::of(settings)?;
        let (gone, told) = (Mutex::default(), Notify::new());
        Ok(Arc::new(Self { receivers, comments, gone, outbox, net, told }))
    }

    /// Whether anybody wants to know of this.
    pub fn is_wanted(&self, event: &str) -> bool {
        self.receivers.iter().any(|it| it.events.contains(event))
    }

    /// Plans to tell everybody who wants to know; durable when it answers.
    pub async fn tell(&self, event: &str, data: &Value, text: &str) {
        let Ok(id) = new_id("msg_") else { return };
        self.tell_once(&id, event, data, text).await;
    }

    /// The same for something that several may notice: told once for an id.
    async fn tell_once(&self, id: &str, event: &str, data: &Value, text: &str) {
        let mut deliveries = Vec::new();
        for receiver in self.receivers.iter().filter(|it| it.events.contains(event)) {
            let body = if receiver.text {
                json!({ "type": event, "text": text })
            } else {
                json!({ "type": event, "timestamp": now_ms() / 1000, "data": data })
            };
            let token = format!("{id}-{}", receiver.name);
            deliveries.push(planned(lane(PLATFORM, &receiver.name, None), token, body.to_string()));
        }
        if deliveries.is_empty() {
            return;
        }
        match self.outbox.plan(deliveries).await {
            Ok(_) => self.told.notify_one(),
            Err(error) => tracing::warn!(%error, event, "nobody is told"),
        }
    }

    /// Sends what is due, until it is dropped.
    pub async fn work(self: Arc<Self>) {
        // What was on its way when a process died goes again: receivers know it by its id.
        if let Err(error) = self.outbox.recover_sending().await {
            tracing::warn!(%error, "webhooks that were on their way stay there");
        }
        self.remember_gone().await;
        loop {
            self.tell_dead().await;
            if let Err(error) = self.send_due(now_ms()).await {
                tracing::warn!(%error, "the outbox of webhooks is not read");
            }
            drop(tokio::time::timeout(LOOK, self.told.notified()).await);
        }
    }

    /// Receivers that told an earlier process that they are gone.
    async fn remember_gone(&self) {
        let Ok(dead) = self.outbox.deliveries(&[DeliveryState::Dead], DEAD_MAX).await else {
            return;
        };
        let own = dead.iter().filter(|row| row.delivery.lane.platform == PLATFORM);
        let gone = own.filter(|row| row.error == GONE).map(|row| row.delivery.lane.chat.clone());
        self.gone.lock().extend(gone);
    }

    /// Tells of messages to people that were given up.
    async fn tell_dead(&self) {
        if !self.is_wanted("delivery_dead") {
            return;
        }
        let Ok(dead) = self.outbox.deliveries(&[DeliveryState::Dead], DEAD_MAX).await else {
            return;
        };
        let since = now_ms() - ms(DEAD_AGE);
        for row in dead {
            let lane = &row.delivery.lane;
            if lane.platform == PLATFORM || row.created_ms < since {
                continue;
            }
            let data = json!({
                "id": row.id, "platform": lane.platform, "account": lane.account,
                "chat": lane.chat, "thread": lane.thread, "error": row.error,
                "attempts": row.attempts,
            });
            let text = format!("a message to {lane} was given up: {}", row.error);
            self.tell_once(&format!("dead-{}", row.id), "delivery_dead", &data, &text).await;
        }
    }

    /// Sends what is due at this time; gives how many were tried.
    pub async fn send_due(&self, now_ms: i64) -> Result<usize, StoreError> {
        let mut tried = 0;
        for platform in [PLATFORM, comment::PLATFORM] {
            let due = self.outbox.take_due(platform, ACCOUNT, now_ms, TOGETHER).await?;
            for row in &due {
                let attempt = if platform == PLATFORM {
                    self.attempt(row, now_ms).await
                } else {
                    self.comments.attempt(&self.net, row, now_ms).await
                };
                self.outbox.end_attempt(row.id, attempt).await?;
            }
            tried += due.len();
        }
        Ok(tried)
    }

    /// Where a target leads that is one of ours; nothing when it is somebody else's.
    pub fn resolve(&self, target: &str) -> Option<Result<Destination, TargetError>> {
        let (platform, rest) = target.split_once(':')?;
        let place = |chat: &str, thread: Option<&str>| Destination {
            platform: platform.to_owned(),
            account: ACCOUNT.to_owned(),
            chat: chat.to_owned(),
            thread: thread.map(str::to_owned),
            name: String::new(),
            kind: "channel".to_owned(),
            home: false,
            unreachable: None,
        };
        let missing = |hint: String, candidates: Vec<String>| {
            Err(TargetError::NotFound { target: target.to_owned(), hint, candidates })
        };
        Some(match platform {
            PLATFORM if self.receivers.iter().any(|it| it.name == rest) => Ok(place(rest, None)),
            PLATFORM => {
                let names = self.receivers.iter().map(|it| format!("{PLATFORM}:{}", it.name));
                missing(format!("`{KEY}` names no `{rest}`"), names.collect())
            }
            comment::PLATFORM => match self.comments.place(rest) {
                Ok((repo, number)) => Ok(place(repo, Some(number))),
                Err(why) => missing(why, Vec::new()),
            },
            _ => return None,
        })
    }

    /// Every receiver, as a place.
    pub fn destinations(&self) -> Vec<Destination> {
        let target = |it: &Receiver| format!("{PLATFORM}:{}", it.name);
        self.receivers.iter().filter_map(|it| self.resolve(&target(it))?.ok()).collect()
    }

    /// Sends a message to one of our places; stored before it leaves.
    pub async fn deliver(&self, parcel: Parcel) -> Result<Receipt, String> {
        let Parcel { to, text, token, wait } = parcel;
        let failed = |error: StoreError| error.to_string();
        let lane = lane(&to.platform, &to.chat, to.thread.as_deref());
        self.outbox.plan(vec![planned(lane, token.clone(), text)]).await.map_err(failed)?;
        // Whoever serves may not run at all: what is due goes now, from here.
        let until = Instant::now() + wait;
        loop {
            self.send_due(now_ms()).await.map_err(failed)?;
            let row = self.outbox.delivery_of(&token).await.map_err(failed)?;
            let row = row.ok_or("the message is no longer planned")?;
            let outcome = match row.state {
                DeliveryState::Sent => Delivered::Sent,
                DeliveryState::Dead if row.uncertain => Delivered::Unknown,
                DeliveryState::Dead | DeliveryState::Superseded => Delivered::Failed,
                DeliveryState::Ambiguous => Delivered::Unknown,
                DeliveryState::Planned | DeliveryState::Sending => Delivered::Planned,
            };
            let settled = matches!(outcome, Delivered::Sent | Delivered::Failed);
            if settled || Instant::now() >= until {
                let note = Some(row.error).filter(|error| !error.is_empty());
                return Ok(Receipt { outcome, messages: row.sent, parts: 1, media: vec![], note });
            }
            tokio::time::sleep(WAIT_LOOK).await;
        }
    }

    async fn attempt(&self, row: &OutboxRow, now_ms: i64) -> Attempt {
        let name = &row.delivery.lane.chat;
        let receiver = self.receivers.iter().find(|it| it.name == *name);
        let Some(receiver) = receiver.filter(|_| !self.gone.lock().contains(name)) else {
            return Attempt::Dead { error: "nobody of this name is told any more".to_owned() };
        };
        let error = match self.post(receiver, row, now_ms).await {
            Ok(200..=299) => return Attempt::Sent,
            Ok(410) => {
                self.gone.lock().insert(name.clone());
                return Attempt::Dead { error: GONE.to_owned() };
            }
            Ok(status) => format!("answered {status}"),
            Err(error) => error,
        };
        again(row, now_ms, error)
    }

    async fn post(&self, receiver: &Receiver, row: &OutboxRow, now_ms: i64) -> Result<u16, String> {
        let (id, at, body) = (&row.delivery.token, now_ms / 1000, &body_of(row, receiver.text));
        let key = Key::new(HMAC_SHA256, &key_bytes(receiver.secret.expose(), true));
        let tag = STANDARD.encode(sign(&key, format!("{id}.{at}.{body}").as_bytes()).as_ref());
        let said = |error: petasos_net::NetError| error.to_string();
        let mut request = Request::new(Method::POST, receiver.url.clone())
            .header("content-type", "application/json")
            .and_then(|it| it.header("webhook-id", id))
            .and_then(|it| it.header("webhook-timestamp", &at.to_string()))
            .and_then(|it| it.header("webhook-signature", &format!("v1,{tag}")))
            .map_err(said)?
            .body(body.clone());
        (request.reach, request.follow) = (receiver.reach, Follow::Nowhere);
        request.first_byte = PATIENCE;
        Ok(self.net.send(request).await.map_err(said)?.status)
    }
}

/// The next try, or the end.
fn again(row: &OutboxRow, now_ms: i64, error: String) -> Attempt {
    let tries = usize::try_from(row.attempts).unwrap_or(usize::MAX);
    match AGAIN.get(tries) {
        Some(pause) => Attempt::Again { at_ms: now_ms + ms(*pause), error, counted: true },
        None => Attempt::Dead { error },
    }
}

/// What is sent: an event as it was planned, and words for people as an event of their own. The
/// same bytes at every try.
fn body_of(row: &OutboxRow, text: bool) -> String {
    let words = &row.delivery.body;
    let event = serde_json::from_str::<Value>(words).ok();
    if event.is_some_and(|event| event.get("type").is_some_and(Value::is_string)) {
        return words.clone();
    }
    let body = if text {
        json!({ "type": "message", "text": words })
    } else {
        json!({ "type": "message", "timestamp": row.created_ms / 1000, "data": { "text": words } })
    };
    body.to_string()
}

fn lane(platform: &str, chat: &str, thread: Option<&str>) -> Lane {
    Lane {
        platform: platform.to_owned(),
        account: ACCOUNT.to_owned(),
        chat: chat.to_owned(),
        thread: thread.map(str::to_owned),
    }
}

fn planned(lane: Lane, token: String, body: String) -> NewDelivery {
    NewDelivery {
        lane,
        class: DeliveryClass::Final,
        token,
        body,
        media: Vec::new(),
        buttons: Vec::new(),
        reply_to: None,
        inbox: None,
    }
}
