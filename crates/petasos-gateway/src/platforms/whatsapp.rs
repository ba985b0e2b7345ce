//! `whatsapp`: a linked phone, by the bridge that speaks WhatsApp's unofficial protocol in a process
//! of its own and HTTP on loopback to us.
//!
//! The bridge gives each message once and forgets it, so one that is on its way to us when we die is
//! lost; nothing on our side can change that. A person is their number, whichever way it is written.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Scheme};
use petasos_store::{ChatKind, Lane, MediaFile};
use serde_json::{Value, json};

use crate::api::{Api, ApiAnswer, link_error, of_status, send_error};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, SendError, Sender,
    TargetId,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "whatsapp",
    about: "WhatsApp by a linked phone and its bridge",
    toolset: "hermes-whatsapp",
    variables: &["WHATSAPP_ENABLED"],
    form: Form { dialect: Dialect::WhatsApp, limit: 4096, unit: Unit::Chars },
    rates: Rates { account: Duration::from_millis(100), chat: Duration::from_secs(1), burst: 3 },
    edits: Some(Duration::from_secs(2)),
    media_bytes_max: 64_000_000,
    typing: Some(Duration::from_secs(8)),
    hint: "The conversation is on WhatsApp: short messages; files are sent with MEDIA:/path on a line of its own.",
    setup: &[
        "this is not WhatsApp's own interface and may cost the number: whatsapp_cloud is the official one",
        "run the bridge, link the phone with its code, and set WHATSAPP_ENABLED=true",
        "set platforms.whatsapp.bridge_port where it is not 3000, and put numbers into WHATSAPP_ALLOWED_USERS",
    ],
    tested_with: "a double of the bridge's local protocol",
    direct: true,
    target: |text| {
        let text = text.trim();
        if text.ends_with("@g.us") {
            return Some(TargetId::chat(text));
        }
        canonical(text).map(|number| TargetId::chat(&format!("{number}@s.whatsapp.net")))
    },
    canonical,
    open,
    ..PlatformDef::USUAL
};

const CALL: Duration = Duration::from_mins(1);
/// How often the bridge is asked for news; it answers at once.
const POLL: Duration = Duration::from_millis(500);
const PORT: u64 = 3000;
const FILE_BYTES_MAX: u64 = 100_000_000;

/// The digits of a number, or of WhatsApp's own name for a person, without device and server.
fn canonical(id: &str) -> Option<String> {
    let id = id.trim();
    let person = id.split('@').next().unwrap_or(id).split(':').next().unwrap_or(id);
    let digits: String =
        person.chars().filter(|c| !matches!(c, '+' | ' ' | '-' | '(' | ')')).collect();
    let fits = (5..=20).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_digit());
    fits.then_some(digits)
}

struct WhatsApp {
    api: Api,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let enabled = text_of(settings, "WHATSAPP_ENABLED").unwrap_or_default().to_lowercase();
    if !matches!(enabled.as_str(), "1" | "true" | "yes" | "on") {
        return Ok(Vec::new());
    }
    let port = settings.get("platforms.whatsapp.bridge_port").and_then(Value::as_u64);
    let port = port.unwrap_or(PORT);
    let token = text_of(settings, "WHATSAPP_BRIDGE_TOKEN");
    let key = token.map(|token| (Secret::new(token.as_str()), Scheme::Bearer));
    let api = Api::new(opening.net, &format!("http://127.0.0.1:{port}"), key, "whatsapp")?;
    Ok(vec![Arc::new(WhatsApp { api })])
}

impl WhatsApp {
    async fn health(&self) -> Result<String, LinkError> {
        let answer = self.api.call(Method::GET, "health", None, CALL).await;
        let answer = answer.map_err(|error| link_error(&error))?;
        match answer.status {
            200 => {
                let state = answer.body.get("status").and_then(Value::as_str);
                Ok(state.unwrap_or_default().to_owned())
            }
            401 | 403 => Err(LinkError::Fatal(
                "the bridge refuses the token: set WHATSAPP_BRIDGE_TOKEN to the bridge's"
                    .to_owned(),
            )),
            status => Err(LinkError::Lost(format!("the bridge answered {status}"))),
        }
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        loop {
            if self.health().await? == "connected" {
                link.progress();
            } else {
                link.degraded("the bridge has no phone: link it, or wait until it is back");
            }
            // The state of the phone is looked at now and then, messages all the time.
            for _ in 0..20 {
                link.room().await;
                let answer = self.api.call(Method::GET, "messages", None, CALL).await;
                let answer = answer.map_err(|error| link_error(&error))?;
                let Some(events) = answer.body.as_array().filter(|_| answer.is_ok()) else {
                    return Err(LinkError::Lost(format!("the bridge answered {}", answer.status)));
                };
                for event in events {
                    if let Some(arrival) = arrival(link, event) {
                        link.take(arrival).await?;
                    }
                }
                if events.is_empty() {
                    tokio::time::sleep(POLL).await;
                }
            }
        }
    }

    async fn post(&self, path: &str, body: &Value) -> Result<ApiAnswer, SendError> {
        let answer = self.api.call(Method::POST, path, Some(body), CALL).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        if answer.is_ok() {
            return Ok(answer);
        }
        let said = answer.body.get("error").and_then(Value::as_str).unwrap_or_default().to_owned();
        Err(match answer.status {
            429 => SendError::RateLimited {
                after: answer.retry_after.unwrap_or(Duration::from_secs(5)),
            },
            // No phone: nothing has left the bridge.
            503 => SendError::Transient(said),
            // It may have left the bridge before something went wrong.
            500 => SendError::Ambiguous(said),
            _ => of_status(&answer, &said),
        })
    }
}

/// A message in everybody's words.
fn arrival(link: &Link, event: &Value) -> Option<Arrival> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    let (id, chat) = (text("messageId"), text("chatId"));
    let from_owner = event.get("fromOwner").and_then(Value::as_bool) == Some(true);
    if id.is_empty() || chat.is_empty() || from_owner {
        return None;
    }
    let people = |key: &str| -> Vec<String> {
        let all = event.get(key).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(|it| canonical(it.as_str()?)).collect()
    };
    let own = people("botIds");
    let is_own = |id: &str| canonical(id).is_some_and(|id| own.contains(&id));
    let group = event.get("isGroup").and_then(Value::as_bool) == Some(true);
    let answers_us = is_own(text("quotedParticipant"));
    let named = people("mentionedIds").iter().any(|id| own.contains(id));
    let sent = event.get("timestamp").and_then(Value::as_i64).unwrap_or_default() * 1000;
    let quoted = Some(text("quotedText").to_owned()).filter(|it| !it.is_empty() && !answers_us);
    let mut arrival = Arrival {
        sent_ms: if sent > 0 { sent } else { crate::platform::now_ms() },
        message: id.to_owned(),
        chat_kind: if group { ChatKind::Group } else { ChatKind::Dm },
        chat_name: text("chatName").to_owned(),
        sender: Sender {
            id: canonical(text("senderId")),
            name: text("senderName").to_owned(),
            ..Sender::default()
        },
        addressed: !group || named || answers_us,
        quoted,
        ..Arrival::text(chat, "", id, text("body"))
    };
    let files = event.get("mediaUrls").and_then(Value::as_array);
    for path in files.into_iter().flatten().filter_map(Value::as_str) {
        match copied(link, Path::new(path), text("mime"), text("fileName")) {
            Ok(file) => arrival.media.push(file),
            Err(why) => arrival.lost.push(why),
        }
    }
    Some(arrival)
}

/// A file that the bridge laid down, in a place of our own.
fn copied(link: &Link, from: &Path, mime: &str, name: &str) -> Result<MediaFile, String> {
    let found = std::fs::symlink_metadata(from).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no regular file".to_owned());
    }
    if found.len() > FILE_BYTES_MAX {
        return Err(format!("it has {} MB", found.len() / 1_000_000));
    }
    let mime = if mime.is_empty() { "application/octet-stream" } else { mime };
    let mime = mime.split(';').next().unwrap_or(mime).trim();
    let to = link.media_path(mime)?;
    std::fs::copy(from, &to).map_err(|error| error.to_string())?;
    let name = if name.is_empty() { "file" } else { name };
    Ok(MediaFile { path: to.display().to_string(), mime: mime.to_owned(), name: name.to_owned() })
}

impl Platform for WhatsApp {
    fn account(&self) -> &'static str {
        "phone"
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let chat = &message.lane.chat;
            let answer = if let Some(file) = message.media {
                let kind = file.mime.split('/').next();
                let kind = kind.filter(|kind| ["image", "video", "audio"].contains(kind));
                let body = json!({
                    "chatId": chat, "filePath": file.path,
                    "mediaType": kind.unwrap_or("document"), "fileName": file.name,
                });
                self.post("send-media", &body).await?
            } else {
                let mut body = json!({ "chatId": chat, "message": message.text });
                if let Some(replied) = message.reply_to {
                    body["replyTo"] = json!(replied);
                }
                self.post("send", &body).await?
            };
            let id = answer.body.get("messageId").and_then(Value::as_str).unwrap_or_default();
            Ok(id.to_owned())
        })
    }

    fn edit<'a>(
        &'a self,
        lane: &'a Lane,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let body = json!({ "chatId": lane.chat, "messageId": message, "message": text });
            self.post("edit", &body).await.map(drop)
        })
    }

    fn typing<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(
            async move { self.post("typing", &json!({ "chatId": lane.chat })).await.map(drop) },
        )
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async { self.health().await.map(|state| format!("the bridge is {state}")) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_one_number_however_it_is_written() {
        for id in ["+49 170 0000001", "491700000001", "491700000001:12@s.whatsapp.net"] {
            assert_eq!(canonical(id).as_deref(), Some("491700000001"), "{id}");
        }
        for id in ["Una", "", "12345678901234567890123@lid", "+49x"] {
            assert_eq!(canonical(id), None, "{id}");
        }
    }
}
