//! `wecom`: a bot of WeCom over its one WebSocket, for what comes in and what goes out.
//!
//! Every send has a name, and the server answers under it. A second socket of the same bot closes the
//! first: whoever is replaced waits instead of fighting for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Net, Request, checked_url};
use petasos_store::{CardButton, ChatKind, MediaFile};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::crypt::{lenient, md5, opened};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, ArrivalKind, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates,
    Repeats, SendError, Sender, TargetId,
};
use crate::render::{Dialect, Form, Unit};
use crate::socket::Socket;

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "wecom",
    about: "WeCom: a bot over its socket",
    toolset: "hermes-wecom",
    variables: &["WECOM_BOT_ID", "WECOM_SECRET"],
    form: Form { dialect: Dialect::CommonMark, limit: 4000, unit: Unit::Chars },
    // Thirty a minute for a chat.
    rates: Rates { account: Duration::from_millis(50), chat: Duration::from_secs(2), burst: 15 },
    repeats: Repeats::Seen,
    buttons: true,
    media_bytes_max: 20_000_000,
    window: |_| Some(Duration::from_hours(24)),
    hint: "The conversation is on WeCom.",
    setup: &[
        "create a bot with a long connection in the admin console, and set WECOM_BOT_ID and WECOM_SECRET",
        "put user ids into WECOM_ALLOWED_USERS",
    ],
    tested_with: "a double built from the published long-connection protocol",
    target: TargetId::usual,
    canonical: |id| Some(id.trim().to_owned()).filter(|id| !id.is_empty()),
    open,
    ..PlatformDef::USUAL
};

/// A sign of life is wanted this often, and three may be missed.
const BEAT: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(10);
const FILE_BYTES_MAX: usize = 20_000_000;
/// How long whoever is replaced by another socket waits.
const REPLACED: Duration = Duration::from_mins(5);

type Answer = oneshot::Sender<Value>;

struct WeCom {
    account: String,
    secret: Secret,
    url: String,
    net: Arc<Net>,
    /// The way to the open socket.
    out: Mutex<Option<mpsc::Sender<(Value, Answer)>>>,
}

fn open(opening: &Opening<'_>) -> Opened {
    let word = |name: &str| text_of(opening.settings, &format!("WECOM_{name}"));
    let (Some(account), Some(secret)) = (word("BOT_ID"), word("SECRET")) else {
        return Ok(Vec::new());
    };
    let url = word("WEBSOCKET_URL").unwrap_or_else(|| "wss://openws.work.weixin.qq.com".to_owned());
    if !url.starts_with("ws://") && !url.starts_with("wss://") {
        return Err(format!(
            "WECOM_WEBSOCKET_URL `{url}` is no address of a socket: write wss://…"
        ));
    }
    let (secret, net) = (Secret::new(secret), Arc::clone(opening.net));
    Ok(vec![Arc::new(WeCom { account, secret, url, net, out: Mutex::default() })])
}

fn frame(command: &str, id: &str, body: &Value) -> Value {
    json!({ "cmd": command, "headers": { "req_id": id }, "body": body })
}

impl WeCom {
    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let mut socket = Socket::open(&self.net, &self.url).await?;
        let login = json!({ "bot_id": self.account, "secret": self.secret.expose() });
        socket.say(&frame("aibot_subscribe", "aibot_subscribe_1", &login)).await?;
        let told = socket.next_within(ANSWER).await?;
        let told = told.ok_or_else(|| LinkError::Lost("the login is not answered".to_owned()))?;
        if told.get("errcode").and_then(Value::as_i64) != Some(0) {
            let said = told.get("errmsg").and_then(Value::as_str).unwrap_or("no description");
            return Err(LinkError::Fatal(format!("WeCom refuses the secret: {said}")));
        }
        let (out, mut asks) = mpsc::channel(16);
        *self.out.lock() = Some(out);
        link.progress();
        let mut waiting: HashMap<String, Answer> = HashMap::new();
        let (mut next, mut beats, mut missed) = (Instant::now() + BEAT, 0_u64, 0);
        loop {
            tokio::select! {
                heard = socket.next() => {
                    let heard = heard?;
                    missed = 0;
                    self.heard(link, heard, &mut waiting).await?;
                }
                asked = asks.recv() => {
                    let Some((asked, answer)) = asked else { continue };
                    let id = asked.pointer("/headers/req_id").and_then(Value::as_str);
                    waiting.insert(id.unwrap_or_default().to_owned(), answer);
                    socket.say(&asked).await?;
                }
                () = tokio::time::sleep_until(next.into()) => {
                    if missed >= 3 {
                        return Err(LinkError::Lost("the server gives no sign of life".to_owned()));
                    }
                    (missed, beats, next) = (missed + 1, beats + 1, Instant::now() + BEAT);
                    socket.say(&frame("ping", &format!("ping_{beats}"), &json!({}))).await?;
                }
            }
        }
    }

    async fn heard(
        &self,
        link: &Link,
        heard: Value,
        waiting: &mut HashMap<String, Answer>,
    ) -> Result<(), LinkError> {
        let text = |path: &str| heard.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let arrival = match text("/cmd") {
            "aibot_msg_callback" => self.arrival(link, &heard).await,
            "aibot_event_callback" => match text("/body/event/eventtype") {
                "disconnected_event" => {
                    let reason = "another socket of this bot took over: stop it".to_owned();
                    return Err(LinkError::Taken { reason, after: REPLACED });
                }
                "template_card_event" => Some(pressed(&heard)),
                _ => None,
            },
            _ => {
                if let Some(answer) = waiting.remove(text("/headers/req_id")) {
                    // Whoever asked may be gone.
                    drop(answer.send(heard));
                }
                return Ok(());
            }
        };
        if let Some(arrival) = arrival {
            link.room().await;
            link.take(arrival).await?;
        }
        Ok(())
    }

    async fn arrival(&self, link: &Link, heard: &Value) -> Option<Arrival> {
        let text = |path: &str| heard.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (from, group) = (text("/body/from/userid"), text("/body/chattype") == "group");
        let chat = if group { text("/body/chatid") } else { from };
        let mut arrival = Arrival {
            chat_kind: if group { ChatKind::Group } else { ChatKind::Dm },
            sender: Sender {
                id: Some(from.to_owned()),
                name: from.to_owned(),
                ..Sender::default()
            },
            // Only messages that name the bot come from groups.
            addressed: true,
            ..Arrival::text(chat, from, text("/body/msgid"), text("/body/text/content").trim())
        };
        match text("/body/msgtype") {
            "text" => {}
            "voice" => text("/body/voice/content").clone_into(&mut arrival.text),
            kind @ ("image" | "file") => {
                let place =
                    [text(&format!("/body/{kind}/url")), text(&format!("/body/{kind}/aeskey"))];
                let name = match text(&format!("/body/{kind}/filename")) {
                    "" => "picture.jpg",
                    name => name,
                };
                let fetched = link.fetch(&mut arrival, self.file(link, place, name)).await;
                arrival.media.extend(fetched);
            }
            _ => return None,
        }
        Some(arrival)
    }

    /// A file lies sealed with the vendor, each with a key of its own.
    async fn file(
        &self,
        link: &Link,
        [url, key]: [&str; 2],
        name: &str,
    ) -> Result<MediaFile, String> {
        let url = checked_url(url).map_err(|error| error.to_string())?;
        let own = self.url.replace("ws://", "http://").replace("wss://", "https://");
        let own = checked_url(&own).is_ok_and(|own| own.origin() == url.origin());
        let host = url.host_str().unwrap_or_default();
        let theirs = [".qq.com", ".myqcloud.com"].iter().any(|end| host.ends_with(end));
        let safe = own || (theirs && url.scheme() == "https");
        if !safe {
            return Err("it lies with somebody else".to_owned());
        }
        let reply = self.net.send(Request::new(Method::GET, url)).await;
        let reply = reply.map_err(|error| error.to_string())?;
        let sealed = reply.bytes(FILE_BYTES_MAX, Duration::from_mins(1)).await;
        let sealed = sealed.map_err(|error| error.to_string())?;
        let padded = format!("{}{}", key, "=".repeat((4 - key.len() % 4) % 4));
        let key = lenient(&padded).unwrap_or_default();
        let iv: Option<[u8; 16]> = key.get(..16).and_then(|iv| iv.try_into().ok());
        let plain = iv.and_then(|iv| opened(&key, iv, &sealed, 32)).ok_or("its seal is broken")?;
        let mime = crate::media::mime_of(name);
        let to = link.media_path(mime)?;
        crate::media::keep(&to, &plain).map_err(|error| error.to_string())?;
        let path = to.display().to_string();
        Ok(MediaFile { path, mime: mime.to_owned(), name: name.to_owned() })
    }

    /// Puts a file with the vendor, piece by piece; gives the message that shows it.
    async fn uploaded(&self, file: &MediaFile, token: &str) -> Result<Value, SendError> {
        const PIECE: usize = 512 * 1024;
        let bytes = crate::media::read(file)?;
        let kind = kind_of(file, bytes.len());
        let pieces: Vec<&[u8]> = bytes.chunks(PIECE).collect();
        let step = async |name: &str, number: usize, body: Value| {
            let command = format!("aibot_upload_media_{name}");
            let id = format!("{command}_{token}_{number}");
            // Nobody has seen anything of it yet: a second try does no harm.
            let told =
                self.ask(frame(&command, &id, &body)).await.map_err(|error| match error {
                    SendError::Ambiguous(why) => SendError::Transient(why),
                    other => other,
                })?;
            settled(&told).map(|()| told)
        };
        let told = step(
            "init",
            0,
            json!({
                "type": kind, "filename": file.name, "total_size": bytes.len(),
                "total_chunks": pieces.len(), "md5": md5(&bytes),
            }),
        );
        let told = told.await?;
        let refused = |what: &str| SendError::Unreachable(format!("the vendor gives no {what}"));
        let upload = told.pointer("/body/upload_id").and_then(Value::as_str);
        let upload = upload.ok_or_else(|| refused("place for a file"))?;
        for (number, piece) in pieces.iter().enumerate() {
            let data = STANDARD.encode(piece);
            let body = json!({ "upload_id": upload, "chunk_index": number, "base64_data": data });
            step("chunk", number, body).await?;
        }
        let told = step("finish", 0, json!({ "upload_id": upload })).await?;
        let media = told.pointer("/body/media_id").and_then(Value::as_str);
        let media = media.ok_or_else(|| refused("name for a file"))?;
        Ok(json!({ "msgtype": kind, kind: { "media_id": media } }))
    }

    async fn ask(&self, asked: Value) -> Result<Value, SendError> {
        let out = self.out.lock().clone();
        let lost = || SendError::Transient("there is no connection".to_owned());
        let (answer, told) = oneshot::channel();
        out.ok_or_else(lost)?.send((asked, answer)).await.map_err(|_| lost())?;
        match tokio::time::timeout(ANSWER, told).await {
            Ok(Ok(told)) => Ok(told),
            // It was on its way when the connection ended.
            Ok(Err(_)) | Err(_) => Err(SendError::Ambiguous("no answer".to_owned())),
        }
    }
}

/// What an answer means for what was sent.
fn settled(told: &Value) -> Result<(), SendError> {
    let said = told.get("errmsg").and_then(Value::as_str).unwrap_or("no description");
    match told.get("errcode").and_then(Value::as_i64) {
        Some(0) => Ok(()),
        Some(846_604 | 45_009) => Err(SendError::RateLimited { after: Duration::from_secs(2) }),
        Some(40_058) => Err(SendError::BadFormat(said.to_owned())),
        _ => Err(SendError::Unreachable(said.to_owned())),
    }
}

/// As what a file is sent: a picture, a film or a recording up to the size that each may have, and
/// otherwise a file.
fn kind_of(file: &MediaFile, bytes: usize) -> &'static str {
    const MB: usize = 1024 * 1024;
    match file.mime.split('/').next() {
        Some("image") if bytes <= 10 * MB && !file.mime.ends_with("webp") => "image",
        Some("video") if bytes <= 10 * MB && file.mime == "video/mp4" => "video",
        Some("audio") if bytes <= 2 * MB && file.mime == "audio/amr" => "voice",
        _ => "file",
    }
}

/// A pressed button of a card.
fn pressed(heard: &Value) -> Arrival {
    let text = |path: &str| heard.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (from, group) = (text("/body/from/userid"), text("/body/chattype") == "group");
    let data = text("/body/event/template_card_event/event_key");
    Arrival {
        kind: ArrivalKind::Button(data.to_owned()),
        chat_kind: if group { ChatKind::Group } else { ChatKind::Dm },
        addressed: true,
        ..Arrival::text(
            if group { text("/body/chatid") } else { from },
            from,
            text("/body/msgid"),
            "",
        )
    }
}

/// A card whose buttons send their data back.
fn card(text: &str, buttons: &[CardButton], token: &str) -> Value {
    let button = |it: &CardButton| json!({ "text": it.label, "style": 1, "key": it.data });
    let task: String = token.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    json!({ "msgtype": "template_card", "template_card": {
        "card_type": "button_interaction", "task_id": task,
        "main_title": { "title": "…", "desc": text.lines().next().unwrap_or_default() },
        "sub_title_text": text,
        "button_list": buttons.iter().map(button).collect::<Vec<_>>(),
    } })
}

impl Platform for WeCom {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            let ended = self.read(link).await;
            *self.out.lock() = None;
            ended
        })
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let mut body = if let Some(file) = message.media {
                self.uploaded(file, message.token).await?
            } else if message.buttons.is_empty() {
                json!({ "msgtype": "markdown", "markdown": { "content": message.text } })
            } else {
                card(message.text, message.buttons, message.token)
            };
            body["chatid"] = json!(message.lane.chat);
            let id = format!("aibot_send_msg_{}", message.token);
            let told = self.ask(frame("aibot_send_msg", &id, &body)).await?;
            settled(&told).map(|()| id)
        })
    }
}
