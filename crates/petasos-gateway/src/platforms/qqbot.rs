//! `qqbot`: a bot of QQ by its gateway and REST interface: direct chats and groups.
//!
//! A message may be answered five times, for an hour in a direct chat and for five minutes in a
//! group; number and message make an answer that is sent again one. After that the platform takes
//! nothing, and whoever waits is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Request, Scheme, checked_url};
use petasos_store::{CardButton, ChatKind, MediaFile};
use serde_json::{Value, json};

use crate::api::{Api, ApiAnswer, of_status, segment, send_error};
use crate::crypt::sha256;
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, ArrivalKind, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates,
    Repeats, SendError, Sender, TargetId, now_ms,
};
use crate::render::{Dialect, Form, Unit};
use crate::socket::Socket;
use crate::token::{Fetched, Tokens};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "qqbot",
    about: "QQ: a bot in direct chats and groups",
    toolset: "hermes-qqbot",
    lists: "QQ",
    variables: &["QQ_APP_ID", "QQ_CLIENT_SECRET"],
    form: Form { dialect: Dialect::CommonMark, limit: 4000, unit: Unit::Chars },
    rates: Rates { account: Duration::from_millis(50), chat: Duration::from_millis(500), burst: 5 },
    repeats: Repeats::Dropped,
    buttons: true,
    media_bytes_max: 10_000_000,
    context: true,
    window: |chat| {
        let group = chat.starts_with(GROUP);
        Some(if group { Duration::from_mins(5) } else { Duration::from_hours(1) })
    },
    hint: "The conversation is on QQ: answer in few messages, because the platform takes five.",
    setup: &[
        "create a bot at q.qq.com, and set QQ_APP_ID and QQ_CLIENT_SECRET",
        "put open ids of this bot into QQ_ALLOWED_USERS",
    ],
    tested_with: "a double built from the published bot interface",
    direct: true,
    target: |text| TargetId::usual(text),
    canonical: |id| Some(id.trim().to_owned()).filter(|id| !id.is_empty()),
    open,
    ..PlatformDef::USUAL
};

const CALL: Duration = Duration::from_secs(20);
/// Groups are named with this before their identity.
const GROUP: &str = "group.";
/// Messages of people and groups, and pressed buttons.
const INTENTS: u64 = 1 << 25 | 1 << 26;
const FILE_BYTES_MAX: u64 = 20_000_000;

struct QqBot {
    account: String,
    secret: Secret,
    login: Api,
    base: String,
    net: Arc<petasos_net::Net>,
    tokens: Tokens,
}

fn open(opening: &Opening<'_>) -> Opened {
    let word = |name: &str| text_of(opening.settings, &format!("QQ_{name}"));
    let (Some(account), Some(secret)) = (word("APP_ID"), word("CLIENT_SECRET")) else {
        return Ok(Vec::new());
    };
    let at = |key: &str, usual: &str| {
        opening.settings.text(&format!("platforms.qqbot.{key}")).unwrap_or(usual).to_owned()
    };
    let login = Api::new(opening.net, &at("login_url", "https://bots.qq.com"), None, "qqbot")?;
    let base = at("base_url", "https://api.sgroup.qq.com");
    let (secret, net, tokens) = (Secret::new(secret), Arc::clone(opening.net), Tokens::default());
    Ok(vec![Arc::new(QqBot { account, secret, login, base, net, tokens })])
}

impl QqBot {
    async fn token(&self) -> Result<String, SendError> {
        let fetch = async {
            let body = json!({ "appId": self.account, "clientSecret": self.secret.expose() });
            let answer = self.login.call(Method::POST, "app/getAppAccessToken", Some(&body), CALL);
            let answer = answer.await.map_err(|error| send_error(&error))?;
            let said = answer.body.get("message").and_then(Value::as_str).unwrap_or("no token");
            Fetched::of(&answer.body, "access_token", "expires_in")
                .ok_or_else(|| SendError::Auth(said.to_owned()))
        };
        self.tokens.get(fetch).await
    }

    async fn api(&self) -> Result<Api, SendError> {
        let secret = Secret::new(format!("QQBot {}", self.token().await?));
        let key = Some((secret, Scheme::Header("authorization")));
        Api::new(&self.net, &self.base, key, "qqbot").map_err(SendError::Transient)
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, SendError> {
        let answer = self.api().await?.call(Method::POST, path, Some(body), CALL).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        if answer.is_ok() { Ok(answer.body) } else { Err(self.refused(&answer)) }
    }

    fn refused(&self, answer: &ApiAnswer) -> SendError {
        let said = answer.body.get("message").and_then(Value::as_str).unwrap_or("no description");
        match answer.body.get("code").and_then(Value::as_i64) {
            // The same message and number arrived before: it is there.
            Some(40_054_005) => SendError::Ambiguous(said.to_owned()),
            Some(40_034_025 | 40_034_005 | 22_009 | 304_023) => SendError::Closed(said.to_owned()),
            Some(11_244 | 11_241) => {
                self.tokens.forget();
                SendError::Transient(said.to_owned())
            }
            Some(40_034_028 | 304_082) => SendError::BadFormat(said.to_owned()),
            _ => of_status(answer, said),
        }
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let api = self.api().await.map_err(ended)?;
        let answer = api.call(Method::GET, "gateway", None, CALL).await;
        let answer = answer.map_err(|error| LinkError::Lost(error.to_string()))?;
        let url = answer.body.get("url").and_then(Value::as_str).unwrap_or_default().to_owned();
        if url.is_empty() {
            return Err(LinkError::Lost(format!("gateway: {}", answer.status)));
        }
        let mut socket = Socket::open(&self.net, &url).await?;
        let hello = socket.next().await?;
        let beat = hello.pointer("/d/heartbeat_interval").and_then(Value::as_u64);
        let beat = Duration::from_millis(beat.unwrap_or(30_000)).max(Duration::from_millis(100));
        let token = format!("QQBot {}", self.token().await.map_err(ended)?);
        let kept = link.cursor("session").await?.unwrap_or_default();
        let (session, mut sequence) = match kept.split_once(' ') {
            Some((session, sequence)) => (session.to_owned(), sequence.parse::<i64>().ok()),
            None => (String::new(), None),
        };
        let login = match sequence.filter(|_| !session.is_empty()) {
            Some(sequence) => {
                json!({ "op": 6, "d": { "token": token, "session_id": session, "seq": sequence } })
            }
            None => {
                json!({ "op": 2, "d": { "token": token, "intents": INTENTS, "shard": [0, 1] } })
            }
        };
        socket.say(&login).await?;
        let (mut session, mut next, mut heard) = (session, Instant::now() + beat, true);
        loop {
            let wait = next.saturating_duration_since(Instant::now());
            let Some(frame) = socket.next_within(wait).await? else {
                if !heard {
                    return Err(LinkError::Lost("the server gives no sign of life".to_owned()));
                }
                socket.say(&json!({ "op": 1, "d": sequence })).await?;
                (heard, next) = (false, Instant::now() + beat);
                continue;
            };
            heard = true;
            match frame.get("op").and_then(Value::as_i64) {
                Some(0) => {}
                Some(7) => {
                    return Err(LinkError::Lost("the server wants us to come anew".to_owned()));
                }
                Some(9) => {
                    link.set_cursor("session", "").await?;
                    self.tokens.forget();
                    return Err(LinkError::Lost("the session is over".to_owned()));
                }
                _ => continue,
            }
            match frame.get("t").and_then(Value::as_str).unwrap_or_default() {
                "READY" => {
                    let id = frame.pointer("/d/session_id").and_then(Value::as_str);
                    id.unwrap_or_default().clone_into(&mut session);
                    link.progress();
                }
                "RESUMED" => link.progress(),
                kind => {
                    if let Some(arrival) = self.arrival(link, kind, &frame).await {
                        link.room().await;
                        link.take(arrival).await?;
                    }
                }
            }
            sequence = frame.get("s").and_then(Value::as_i64).or(sequence);
            let kept = format!("{session} {}", sequence.unwrap_or(0));
            link.set_cursor("session", &kept).await?;
        }
    }

    async fn arrival(&self, link: &Link, kind: &str, frame: &Value) -> Option<Arrival> {
        let text = |path: &str| frame.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (chat, from, chat_kind) = match kind {
            "C2C_MESSAGE_CREATE" => {
                let from = text("/d/author/user_openid");
                (from.to_owned(), from, ChatKind::Dm)
            }
            "GROUP_AT_MESSAGE_CREATE" => {
                let chat = format!("{GROUP}{}", text("/d/group_openid"));
                (chat, text("/d/author/member_openid"), ChatKind::Group)
            }
            "INTERACTION_CREATE" => return Some(pressed(frame)),
            _ => return None,
        };
        let mut arrival = Arrival {
            sent_ms: now_ms(),
            chat_kind,
            sender: Sender { id: Some(from.to_owned()), ..Sender::default() },
            // Only messages that name the bot come from groups.
            addressed: true,
            context: Some(text("/d/id").to_owned()),
            ..Arrival::text(&chat, from, text("/d/id"), text("/d/content").trim())
        };
        let files = frame.pointer("/d/attachments").and_then(Value::as_array).cloned();
        for file in files.unwrap_or_default() {
            let fetched = link.fetch(&mut arrival, self.file(link, &file)).await;
            arrival.media.extend(fetched);
        }
        Some(arrival)
    }

    async fn file(&self, link: &Link, file: &Value) -> Result<MediaFile, String> {
        let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
        let url = checked_url(text("url")).map_err(|error| error.to_string())?;
        let base = checked_url(&self.base).map_err(|error| error.to_string())?;
        let host = url.host_str().unwrap_or_default();
        let theirs = [".qq.com.cn", ".qq.com", ".qpic.cn"].iter().any(|end| host.ends_with(end));
        if url.origin() != base.origin() && !(theirs && url.scheme() == "https") {
            return Err("it lies with somebody else".to_owned());
        }
        let mime = match text("content_type") {
            "" | "file" => crate::media::mime_of(text("filename")),
            "voice" => "audio/silk",
            mime => mime,
        };
        let to = link.media_path(mime)?;
        self.login
            .download(Request::new(Method::GET, url), &to, link.file_bytes_max(FILE_BYTES_MAX))
            .await?;
        let (path, name) = (to.display().to_string(), text("filename").to_owned());
        Ok(MediaFile { path, mime: mime.to_owned(), name })
    }

    async fn upload(&self, place: &str, file: &MediaFile) -> Result<Value, SendError> {
        let bytes = crate::media::read(file)?;
        let kind = match file.mime.split('/').next() {
            Some("image") => 1,
            Some("video") => 2,
            Some("audio") => 3,
            _ => 4,
        };
        let data = base64::engine::general_purpose::STANDARD.encode(bytes);
        let body = json!({
            "file_type": kind, "file_data": data, "file_name": file.name, "srv_send_msg": false,
        });
        let done = self.post(&format!("{place}/files"), &body).await?;
        Ok(json!({ "file_info": done.get("file_info") }))
    }
}

fn ended(error: SendError) -> LinkError {
    match error {
        SendError::Auth(why) => LinkError::Fatal(format!("QQ refuses the secret: {why}")),
        other => LinkError::Lost(other.to_string()),
    }
}

/// Where the messages of a chat live.
fn place_of(chat: &str) -> String {
    match chat.strip_prefix(GROUP) {
        Some(group) => format!("v2/groups/{}", segment(group)),
        None => format!("v2/users/{}", segment(chat)),
    }
}

/// A pressed button.
fn pressed(frame: &Value) -> Arrival {
    let text = |path: &str| frame.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let group = text("/d/group_openid");
    let (chat, from) = match group {
        "" => (text("/d/user_openid").to_owned(), text("/d/user_openid")),
        group => (format!("{GROUP}{group}"), text("/d/group_member_openid")),
    };
    let data = text("/d/data/resolved/button_data");
    let kind = if group.is_empty() { ChatKind::Dm } else { ChatKind::Group };
    Arrival {
        kind: ArrivalKind::Button(data.to_owned()),
        chat_kind: kind,
        addressed: true,
        ..Arrival::text(&chat, from, text("/d/id"), "")
    }
}

/// The same answer has the same number, and another has another.
fn number_of(token: &str) -> u32 {
    let digest = sha256(token.as_bytes());
    let bytes = [digest[0], digest[1], digest[2]];
    u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) % 1_000_000 + 1
}

fn keyboard(buttons: &[CardButton]) -> Value {
    let row = |(at, it): (usize, &CardButton)| {
        json!({ "buttons": [{
            "id": at.to_string(),
            "render_data": { "label": it.label, "visited_label": it.label, "style": 1 },
            "action": { "type": 1, "permission": { "type": 2 }, "data": it.data, "unsupport_tips": "" },
        }] })
    };
    let rows: Vec<Value> = buttons.iter().enumerate().map(row).collect();
    json!({ "content": { "rows": rows } })
}

impl Platform for QqBot {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let place = place_of(&message.lane.chat);
            let mut body = json!({ "msg_seq": number_of(message.token) });
            if let Some(answered) = message.context {
                body["msg_id"] = json!(answered);
            }
            if let Some(file) = message.media {
                body["msg_type"] = json!(7);
                body["media"] = self.upload(&place, file).await?;
            } else if message.unmarked {
                body["msg_type"] = json!(0);
                body["content"] = json!(message.text);
            } else {
                body["msg_type"] = json!(2);
                body["markdown"] = json!({ "content": message.text });
                if !message.buttons.is_empty() {
                    body["keyboard"] = keyboard(message.buttons);
                }
            }
            let done = self.post(&format!("{place}/messages"), &body).await?;
            Ok(done.get("id").and_then(Value::as_str).unwrap_or_default().to_owned())
        })
    }

    fn acknowledge<'a>(&'a self, press: &'a str, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let path = format!("interactions/{}", segment(press));
            let done = async {
                let api = self.api().await?;
                let body = json!({ "code": 0 });
                let answer = api.call(Method::PUT, &path, Some(&body), CALL).await;
                answer.map(drop).map_err(|error| send_error(&error))
            };
            if let Err(error) = done.await {
                tracing::debug!(%error, "a press is not confirmed");
            }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async move { self.token().await.map(|_| self.account.clone()).map_err(ended) })
    }
}
