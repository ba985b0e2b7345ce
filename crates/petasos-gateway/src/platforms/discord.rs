//! `discord`: the gateway by WebSocket and the REST interface, version 10.
//!
//! The session is resumed with its last sequence; where the server has forgotten it, each channel is
//! read on from the last message that was stored. A nonce makes a repeated send one message.

mod event;
mod menu;
mod outgoing;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::delivery::Mark;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, NetError, Scheme};
use petasos_store::Lane;
use serde_json::{Value, json};

use self::outgoing::{body, refused};
use crate::api::{Api, ApiAnswer, link_error, multipart, segment, send_error};
use crate::display::Progress;
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    ArrivalKind, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, TargetId,
};
use crate::render::{Dialect, Form, Unit};
use crate::socket::Socket;

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "discord",
    about: "Discord: servers, threads and direct messages",
    toolset: "hermes-discord",
    variables: &["DISCORD_BOT_TOKEN"],
    form: Form { dialect: Dialect::Discord, limit: 2000, unit: Unit::Utf16 },
    rates: Rates { account: Duration::from_millis(20), chat: Duration::from_secs(1), burst: 5 },
    repeats: Repeats::Dropped,
    buttons: true,
    progress: Progress::All,
    edits: Some(Duration::from_millis(1200)),
    media_bytes_max: 10_000_000,
    typing: Some(Duration::from_secs(8)),
    mention: true,
    hint: "The conversation is on Discord: messages have 2,000 characters at most.",
    setup: &[
        "create an application at discord.com/developers, add a bot and put its token into DISCORD_BOT_TOKEN",
        "turn on the Message Content intent, and invite the bot with the scopes bot and applications.commands",
        "put your own numeric id into DISCORD_ALLOWED_USERS, or write to the bot and pair",
    ],
    tested_with: "a double built from the published API types",
    direct: true,
    target: TargetId::number,
    canonical: |id| {
        let id = id.trim();
        (!id.is_empty() && id.chars().all(|c| c.is_ascii_digit())).then(|| id.to_owned())
    },
    open,
    ..PlatformDef::USUAL
};

const CALL: Duration = Duration::from_secs(20);
/// Guilds, their messages, direct messages, and what is in them.
const INTENTS: u64 = 1 | (1 << 9) | (1 << 12) | (1 << 15);
/// The server refuses us for good: token, intents, version, shard.
const FATAL_CODES: &[u16] = &[4004, 4010, 4011, 4012, 4013, 4014];
const FILE_BYTES_MAX: u64 = 32_000_000;
/// So many channels are read on after a session was lost.
const CHANNELS_MAX: usize = 200;
/// Only whoever pressed sees the answer.
const EPHEMERAL: u64 = 64;

struct Discord {
    account: String,
    token: Secret,
    api: Api,
    /// Threads and the channels that they belong to.
    threads: Mutex<HashMap<String, String>>,
    session: Mutex<Option<Resumable>>,
}

/// A session that the server may still know.
#[derive(Debug, Clone)]
struct Resumable {
    id: String,
    url: String,
    sequence: u64,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let Some(token) = text_of(settings, "DISCORD_BOT_TOKEN") else { return Ok(Vec::new()) };
    let base = settings.text("platforms.discord.base_url").or(settings.text("discord.base_url"));
    let base = base.unwrap_or("https://discord.com/api/v10");
    let key = Some((Secret::new(format!("Bot {token}")), Scheme::Header("authorization")));
    let api = Api::new(opening.net, base, key, "discord")?;
    // The first part of a token is the number of its bot.
    let account = token.split('.').next().unwrap_or_default();
    let account = decoded(account).unwrap_or_else(|| "bot".to_owned());
    Ok(vec![Arc::new(Discord {
        account,
        token: Secret::new(token),
        api,
        threads: Mutex::default(),
        session: Mutex::default(),
    })])
}

fn decoded(part: &str) -> Option<String> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD_NO_PAD.decode(part).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    (!text.is_empty() && text.chars().all(|c| c.is_ascii_digit())).then_some(text)
}

impl Discord {
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<ApiAnswer, NetError> {
        self.api.call(method, path, body, CALL).await
    }

    async fn identity(&self) -> Result<Value, LinkError> {
        let answer =
            self.call(Method::GET, "users/@me", None).await.map_err(|error| link_error(&error))?;
        match answer.status {
            200 => Ok(answer.body),
            401 | 403 => Err(LinkError::Fatal(
                "Discord refuses the token: copy it again from the developer portal".to_owned(),
            )),
            status => Err(LinkError::Lost(format!("users/@me: {status} {}", said(&answer)))),
        }
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let me = self.identity().await?;
        let me = me.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = self.session.lock().clone();
        let url = match &known {
            Some(session) => session.url.clone(),
            None => self.gateway_url().await?,
        };
        self.check_host(&url)?;
        let address = format!("{}/?v=10&encoding=json", url.trim_end_matches('/'));
        let mut socket = Socket::open(self.api.net(), &address).await?;
        let hello = socket.next_within(CALL).await?;
        let beat = hello.as_ref().and_then(|it| it.pointer("/d/heartbeat_interval"));
        let beat = beat.and_then(Value::as_u64).ok_or_else(|| {
            LinkError::Lost("the gateway did not say how often it wants a sign of life".to_owned())
        })?;
        socket.say(&self.introduction(known.as_ref())).await?;
        let ended = self.listen(link, &mut socket, Duration::from_millis(beat.max(10)), &me).await;
        match socket.code() {
            Some(4004) => Err(LinkError::Fatal("Discord refuses the token".to_owned())),
            Some(4014) => Err(LinkError::Fatal(
                "Discord refuses the intents: turn on Message Content in the developer portal"
                    .to_owned(),
            )),
            Some(code) if FATAL_CODES.contains(&code) => {
                Err(LinkError::Fatal(format!("Discord refuses the connection: {code}")))
            }
            // A session that timed out or has a wrong sequence is not taken up again.
            Some(4007 | 4009) => {
                *self.session.lock() = None;
                ended
            }
            _ => ended,
        }
    }

    async fn gateway_url(&self) -> Result<String, LinkError> {
        let answer = self
            .call(Method::GET, "gateway/bot", None)
            .await
            .map_err(|error| link_error(&error))?;
        let url = answer.body.get("url").and_then(Value::as_str).map(str::to_owned);
        url.ok_or_else(|| {
            LinkError::Lost(format!("gateway/bot: {} {}", answer.status, said(&answer)))
        })
    }

    /// The token goes to Discord alone, whatever an answer says.
    fn check_host(&self, url: &str) -> Result<(), LinkError> {
        let host = petasos_net::Url::parse(url).ok();
        let host = host.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
        let own = self.api.url("").ok();
        let own = own.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
        let theirs = [".discord.gg", ".discord.com"].iter().any(|end| host.ends_with(end));
        if theirs || host == own {
            return Ok(());
        }
        Err(LinkError::Fatal(format!("`{host}` is no gateway of Discord's")))
    }

    fn introduction(&self, known: Option<&Resumable>) -> Value {
        match known {
            Some(session) => json!({ "op": 6, "d": {
                "token": self.token.expose(), "session_id": session.id, "seq": session.sequence,
            }}),
            None => json!({ "op": 2, "d": {
                "token": self.token.expose(),
                "intents": INTENTS,
                "properties": { "os": "linux", "browser": "petasos", "device": "petasos" },
            }}),
        }
    }

    async fn listen(
        &self,
        link: &Link,
        socket: &mut Socket,
        beat: Duration,
        me: &str,
    ) -> Result<(), LinkError> {
        let mut due = Instant::now() + beat;
        let mut answered = true;
        loop {
            let wait = due.saturating_duration_since(Instant::now());
            let Some(frame) = socket.next_within(wait).await? else {
                if !answered {
                    return Err(LinkError::Lost("the gateway gives no sign of life".to_owned()));
                }
                let sequence = self.session.lock().as_ref().map(|it| it.sequence);
                socket.say(&json!({ "op": 1, "d": sequence })).await?;
                (due, answered) = (Instant::now() + beat, false);
                continue;
            };
            match frame.get("op").and_then(Value::as_u64) {
                Some(0) => self.dispatch(link, &frame, me).await?,
                Some(1) => due = Instant::now(),
                Some(7) => {
                    return Err(LinkError::Lost(
                        "the gateway asks for a new connection".to_owned(),
                    ));
                }
                Some(9) => {
                    if frame.get("d").and_then(Value::as_bool) != Some(true) {
                        *self.session.lock() = None;
                    }
                    return Err(LinkError::Lost(
                        "the gateway does not know the session".to_owned(),
                    ));
                }
                Some(11) => answered = true,
                _ => {}
            }
        }
    }

    /// An event. Its number is kept after what it brought is stored.
    async fn dispatch(&self, link: &Link, frame: &Value, me: &str) -> Result<(), LinkError> {
        let event = frame.get("d").unwrap_or(&Value::Null);
        match frame.get("t").and_then(Value::as_str).unwrap_or_default() {
            "READY" => {
                let text = |key: &str| event.get(key).and_then(Value::as_str).map(str::to_owned);
                let fresh = text("session_id").zip(text("resume_gateway_url"));
                *self.session.lock() = fresh.map(|(id, url)| Resumable { id, url, sequence: 0 });
                link.progress();
                self.catch_up(link, me).await?;
                self.set_menu(link).await?;
            }
            "RESUMED" => link.progress(),
            "GUILD_CREATE" | "THREAD_LIST_SYNC" => {
                let threads = event.get("threads").and_then(Value::as_array);
                threads.into_iter().flatten().for_each(|it| self.know_thread(it));
            }
            "THREAD_CREATE" | "THREAD_UPDATE" => self.know_thread(event),
            "MESSAGE_CREATE" => self.message(link, event, me).await?,
            "MESSAGE_UPDATE" if event.get("content").is_some() => {
                if let Some(mut arrival) = self.arrival(event, me) {
                    arrival.kind = ArrivalKind::Edited;
                    link.take(arrival).await?;
                }
            }
            "INTERACTION_CREATE" => match self.press(event) {
                Some(arrival) => link.take(arrival).await?,
                None => self.called(link, event).await?,
            },
            _ => {}
        }
        if let (Some(session), Some(sequence)) =
            (self.session.lock().as_mut(), frame.get("s").and_then(Value::as_u64))
        {
            session.sequence = sequence;
        }
        Ok(())
    }

    fn know_thread(&self, thread: &Value) {
        let text = |key: &str| thread.get(key).and_then(Value::as_str).map(str::to_owned);
        if let (Some(id), Some(parent)) = (text("id"), text("parent_id")) {
            self.threads.lock().insert(id, parent);
        }
    }

    async fn message(&self, link: &Link, event: &Value, me: &str) -> Result<(), LinkError> {
        let Some(mut arrival) = self.arrival(event, me) else { return Ok(()) };
        for file in event.get("attachments").and_then(Value::as_array).into_iter().flatten() {
            let fetched = link.fetch(&mut arrival, self.attachment(link, file)).await;
            arrival.media.extend(fetched);
        }
        if arrival.is_empty() {
            // Without the content intent every text is empty.
            let told = event.get("mentions").and_then(Value::as_array).is_some_and(Vec::is_empty)
                && event.get("sticker_items").is_none();
            if told && event.get("guild_id").is_some() {
                link.degraded("messages come without text: turn on the Message Content intent");
            }
            return Ok(());
        }
        let channel = event.get("channel_id").and_then(Value::as_str).unwrap_or_default();
        let id = arrival.message.clone();
        link.room().await;
        link.take(arrival).await?;
        self.remember(link, channel, &id).await
    }

    /// The last message of a channel that was stored, for the day the session is lost.
    async fn remember(&self, link: &Link, channel: &str, id: &str) -> Result<(), LinkError> {
        let mut last = Self::last_messages(link).await?;
        last.insert(channel.to_owned(), json!(id));
        while last.len() > CHANNELS_MAX {
            let oldest = last.iter().min_by_key(|(_, id)| number(id)).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { break };
            last.remove(&oldest);
        }
        link.set_cursor("last", &Value::Object(last).to_string()).await.map_err(LinkError::from)
    }

    async fn last_messages(link: &Link) -> Result<serde_json::Map<String, Value>, LinkError> {
        let kept = link.cursor("last").await?;
        Ok(kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// Reads what came while nobody was connected. What was stored before is known by its name.
    async fn catch_up(&self, link: &Link, me: &str) -> Result<(), LinkError> {
        for (channel, last) in Self::last_messages(link).await? {
            let Some(last) = last.as_str() else { continue };
            let path = format!(
                "channels/{}/messages?after={}&limit=100",
                segment(&channel),
                segment(last)
            );
            let answer =
                self.call(Method::GET, &path, None).await.map_err(|error| link_error(&error))?;
            let Some(messages) = answer.body.as_array().filter(|_| answer.is_ok()) else {
                tracing::debug!(status = answer.status, "a channel cannot be read on");
                continue;
            };
            // The newest comes first.
            for message in messages.iter().rev() {
                let mut message = message.clone();
                message["channel_id"] = json!(channel);
                self.message(link, &message, me).await?;
            }
        }
        Ok(())
    }

    async fn post(&self, message: &Outgoing<'_>) -> Result<String, SendError> {
        let path = format!("channels/{}/messages", segment(channel_of(message.lane)));
        let body = body(message);
        let answer = match message.media {
            None => self.call(Method::POST, &path, Some(&body)).await,
            Some(file) => {
                let bytes = crate::media::read(file)?;
                let body = body.to_string();
                let (kind, form) = multipart(
                    &[("payload_json", &body)],
                    ("files[0]", &file.name, &file.mime, &bytes),
                );
                let request = self.api.request(Method::POST, &path);
                let request = request.and_then(|it| it.header("content-type", &kind));
                let request = request.map_err(|error| send_error(&error))?.body(form);
                self.api.answer(request, Duration::from_mins(1)).await
            }
        };
        let answer = answer.map_err(|error| send_error(&error))?;
        if !answer.is_ok() {
            return Err(refused(&answer));
        }
        let id = answer.body.get("id").and_then(Value::as_str).unwrap_or_default();
        Ok(id.to_owned())
    }

    async fn done(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(), SendError> {
        let answer = self.call(method, path, body).await.map_err(|error| send_error(&error))?;
        if answer.is_ok() { Ok(()) } else { Err(refused(&answer)) }
    }
}

/// Where a lane is written to: a thread is a channel of its own.
fn channel_of(lane: &Lane) -> &str {
    lane.thread.as_deref().unwrap_or(&lane.chat)
}

fn number(id: &Value) -> u64 {
    id.as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn said(answer: &ApiAnswer) -> String {
    let said = answer.body.get("message").and_then(Value::as_str);
    said.unwrap_or("no description").to_owned()
}

impl Platform for Discord {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move { self.post(&message).await })
    }

    fn edit<'a>(
        &'a self,
        lane: &'a Lane,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let channel = segment(channel_of(lane));
            let path = format!("channels/{channel}/messages/{}", segment(message));
            let body =
                json!({ "content": text, "allowed_mentions": { "parse": [] }, "components": [] });
            self.done(Method::PATCH, &path, Some(&body)).await
        })
    }

    fn react<'a>(
        &'a self,
        lane: &'a Lane,
        message: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let (method, emoji) = match mark {
                Mark::Put(emoji) => (Method::PUT, emoji),
                Mark::Take(emoji) => (Method::DELETE, emoji),
            };
            let (channel, emoji) = (segment(channel_of(lane)), segment(emoji));
            let message = segment(message);
            let path = format!("channels/{channel}/messages/{message}/reactions/{emoji}/@me");
            self.done(method, &path, None).await
        })
    }

    fn typing<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let path = format!("channels/{}/typing", segment(channel_of(lane)));
            self.done(Method::POST, &path, None).await
        })
    }

    fn acknowledge<'a>(&'a self, press: &'a str, word: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some((id, token)) = press.split_once('/') else { return };
            let path = format!("interactions/{}/{}/callback", segment(id), segment(token));
            let body = json!({ "type": 4, "data": { "content": word, "flags": EPHEMERAL } });
            if let Err(error) = self.done(Method::POST, &path, Some(&body)).await {
                tracing::debug!(%error, "a press is not confirmed");
            }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async {
            let me = self.identity().await?;
            Ok(me.get("username").and_then(Value::as_str).unwrap_or("a bot").to_owned())
        })
    }
}
