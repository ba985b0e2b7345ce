//! Webhooks out: what happens in turns, told to other programs. Signed as Standard Webhooks, in
//! order, again until they arrive or are given up; what was given up stays in the outbox.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use petasos_contract::{Secret, Settings};
use petasos_net::{Follow, Method, Net, Reach, Request, Url};
use petasos_store::{
    Attempt, DeliveryClass, Lane, NewDelivery, OutboxRow, OutboxStore, StoreError,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::options::OptionsError;
use crate::runs::{ms, new_id, now_ms};
use crate::webhooks::key_bytes;

/// Where they stand in the outbox.
const PLATFORM: &str = "webhook";
const ACCOUNT: &str = "out";
const KEY: &str = "gateway.webhooks_out";
/// What is told.
const EVENTS: &[&str] = &["turn_ended", "approval_opened", "approval_closed"];
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
/// How long a receiver may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// The outbox is looked at so often, besides when something is told.
const LOOK: Duration = Duration::from_secs(5);
/// So many go at once.
const TOGETHER: u32 = 16;

/// Somebody who is told.
#[derive(Debug, Clone)]
struct Receiver {
    name: String,
    url: Url,
    secret: Secret,
    events: BTreeSet<String>,
    /// Words for people instead of the event.
    text: bool,
    reach: Reach,
}

/// Tells other programs what happens.
pub struct Outgoing {
    receivers: Vec<Receiver>,
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

fn wrong(what: impl Into<String>) -> OptionsError {
    OptionsError::Setting { key: KEY.to_owned(), what: what.into() }
}

impl Outgoing {
    /// Those of the settings; nothing where nobody is to be told.
    pub fn read(
        settings: &Settings,
        outbox: Arc<dyn OutboxStore>,
        net: Arc<Net>,
    ) -> Result<Option<Arc<Self>>, OptionsError> {
        let listed = settings.get(KEY).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut receivers: Vec<Receiver> = Vec::new();
        for entry in &listed {
            let one = receiver(entry, settings)?;
            if receivers.iter().any(|known| known.name == one.name) {
                return Err(wrong(format!("two are named `{}`", one.name)));
            }
            receivers.push(one);
        }
        if receivers.is_empty() {
            return Ok(None);
        }
        let (gone, told) = (Mutex::default(), Notify::new());
        Ok(Some(Arc::new(Self { receivers, gone, outbox, net, told })))
    }

    /// Plans to tell everybody who wants to know; durable when it answers.
    pub(crate) async fn tell(&self, event: &str, data: &Value, text: &str) {
        let mut deliveries = Vec::new();
        for receiver in self.receivers.iter().filter(|it| it.events.contains(event)) {
            let Ok(id) = new_id("msg_") else { return };
            let body = if receiver.text {
                json!({ "type": event, "text": text })
            } else {
                json!({ "type": event, "timestamp": now_ms() / 1000, "data": data })
            };
            deliveries.push(NewDelivery {
                lane: Lane {
                    platform: PLATFORM.to_owned(),
                    account: ACCOUNT.to_owned(),
                    chat: receiver.name.clone(),
                    thread: None,
                },
                class: DeliveryClass::Final,
                token: id,
                body: body.to_string(),
                media: Vec::new(),
                buttons: Vec::new(),
                reply_to: None,
                inbox: None,
            });
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
        loop {
            if let Err(error) = self.send_due(now_ms()).await {
                tracing::warn!(%error, "the outbox of webhooks is not read");
            }
            drop(tokio::time::timeout(LOOK, self.told.notified()).await);
        }
    }

    /// Sends what is due at this time; gives how many were tried.
    pub async fn send_due(&self, now_ms: i64) -> Result<usize, StoreError> {
        let due = self.outbox.take_due(PLATFORM, ACCOUNT, now_ms, TOGETHER).await?;
        for row in &due {
            let attempt = self.attempt(row, now_ms).await;
            self.outbox.end_attempt(row.id, attempt).await?;
        }
        Ok(due.len())
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
                return Attempt::Dead { error: "the receiver is gone (410)".to_owned() };
            }
            Ok(status) => format!("answered {status}"),
            Err(error) => error,
        };
        let tries = usize::try_from(row.attempts).unwrap_or(usize::MAX);
        match AGAIN.get(tries) {
            Some(pause) => Attempt::Again { at_ms: now_ms + ms(*pause), error, counted: true },
            None => Attempt::Dead { error },
        }
    }

    async fn post(&self, receiver: &Receiver, row: &OutboxRow, now_ms: i64) -> Result<u16, String> {
        let (id, at, body) = (&row.delivery.token, now_ms / 1000, &row.delivery.body);
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

fn receiver(entry: &Value, settings: &Settings) -> Result<Receiver, OptionsError> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| wrong("every entry has a `name`"))?.to_owned();
    let url = text("url").and_then(|url| petasos_net::checked_url(url).ok());
    let url = url.ok_or_else(|| wrong(format!("`{name}` has no address that can be used")))?;
    let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if url.scheme() != "https" && !here {
        return Err(wrong(format!("`{name}` must be an https: address")));
    }
    let variable = text("secret_env").ok_or_else(|| {
        wrong(format!("`{name}` has no `secret_env`: name the variable that holds its secret"))
    })?;
    let secret = settings.variable(variable).map(|it| it.value.clone());
    let secret = secret.ok_or_else(|| wrong(format!("{variable} of `{name}` is not set")))?;
    let listed = entry.get("events").and_then(Value::as_array).cloned().unwrap_or_default();
    let events: BTreeSet<String> =
        listed.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if let Some(strange) = events.iter().find(|it| !EVENTS.contains(&it.as_str())) {
        return Err(wrong(format!("`{strange}` is not told; there are {}", EVENTS.join(", "))));
    }
    let usual = || EVENTS.iter().map(|it| (*it).to_owned()).collect();
    let events = if events.is_empty() { usual() } else { events };
    // The user wrote the address, but what answers for its name may be anybody.
    let reach = if here { Reach::Anywhere } else { Reach::PublicOnly };
    let text = text("format") == Some("text");
    Ok(Receiver { name, url, secret, events, text, reach })
}
