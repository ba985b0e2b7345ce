//! `signal`: an account that signal-cli holds, over its JSON-RPC and event stream on loopback.
//!
//! A person is their UUID; the number is another name for the same one. A repeat is seen, because
//! Signal knows no token of ours. Groups are read only where the settings list them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use petasos_contract::BoxFuture;
use petasos_contract::delivery::Mark;
use petasos_net::Method;
use petasos_net::sse::{Parser, SseError};
use petasos_store::{ChatKind, Lane, MediaFile};
use serde_json::{Value, json};

use crate::api::{Api, link_error, of_status, segment, send_error};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, ArrivalKind, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates,
    SendError, Sender, TargetId,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "signal",
    about: "Signal by a linked signal-cli",
    toolset: "hermes-signal",
    variables: &["SIGNAL_HTTP_URL", "SIGNAL_ACCOUNT"],
    form: Form { dialect: Dialect::Plain, limit: 8000, unit: Unit::Utf16 },
    rates: Rates { account: Duration::from_millis(100), chat: Duration::from_secs(1), burst: 3 },
    media_bytes_max: 100_000_000,
    typing: Some(Duration::from_secs(8)),
    hint: "The conversation is on Signal: short plain messages.",
    setup: &[
        "link signal-cli to an account and run `signal-cli -a NUMBER daemon --http 127.0.0.1:8080`",
        "set SIGNAL_HTTP_URL and SIGNAL_ACCOUNT (+number), and put numbers or UUIDs into SIGNAL_ALLOWED_USERS",
        "list groups in SIGNAL_ALLOWED_CHATS; others are not read",
    ],
    tested_with: "a double built from signal-cli's manual",
    direct: true,
    target: |text| {
        let text = text.trim();
        let group = text.strip_prefix("group.").map(|_| TargetId::chat(text));
        group.or_else(|| (PLATFORM.canonical)(text).map(|person| TargetId::chat(&person)))
    },
    canonical,
    open,
    ..PlatformDef::USUAL
};

const CALL: Duration = Duration::from_secs(30);
/// The daemon sends a sign of life at least this often.
const IDLE: Duration = Duration::from_mins(1);
const FILE_BYTES_MAX: u64 = 100_000_000;

/// A UUID, or a number with a plus and digits.
fn canonical(id: &str) -> Option<String> {
    let id = id.trim();
    let digits: String = id.chars().filter(|c| !matches!(c, ' ' | '-' | '(' | ')')).collect();
    if let Some(number) = digits.strip_prefix('+') {
        let fits = (7..=15).contains(&number.len()) && number.chars().all(|c| c.is_ascii_digit());
        return fits.then_some(digits);
    }
    let fits = id.len() == 36
        && id.chars().enumerate().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        });
    fits.then(|| id.to_lowercase())
}

struct Signal {
    account: String,
    api: Api,
    next: AtomicU64,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let (Some(url), Some(account)) =
        (text_of(settings, "SIGNAL_HTTP_URL"), text_of(settings, "SIGNAL_ACCOUNT"))
    else {
        return Ok(Vec::new());
    };
    let account = canonical(&account)
        .ok_or_else(|| format!("SIGNAL_ACCOUNT `{account}` is no number: write it as +4912345"))?;
    let api =
        Api::new(opening.net, &format!("{}/api/v1", url.trim_end_matches('/')), None, "signal")?;
    Ok(vec![Arc::new(Signal { account, api, next: AtomicU64::new(1) })])
}

impl Signal {
    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let path = format!("events?account={}", segment(&self.account));
        let request = self.api.request(Method::GET, &path).map_err(|error| link_error(&error))?;
        let mut reply = self.api.net().send(request).await.map_err(|error| link_error(&error))?;
        if reply.status != 200 {
            return Err(LinkError::Lost(format!("signal-cli answered {}", reply.status)));
        }
        link.progress();
        let mut parser = Parser::new();
        while let Some(piece) = reply.chunk(IDLE).await.map_err(|error| link_error(&error))? {
            let mut found = Vec::new();
            let kept = parser.push(&piece, |event| {
                found.push(event.data.to_owned());
                Ok::<(), SseError>(())
            });
            kept.map_err(|error| LinkError::Lost(error.to_string()))?;
            for data in found {
                let Ok(event) = serde_json::from_str::<Value>(&data) else { continue };
                if let Some(arrival) = self.arrival(link, &event).await {
                    link.room().await;
                    link.take(arrival).await?;
                }
            }
        }
        Ok(())
    }

    /// An envelope in everybody's words; nothing when it is our own or a receipt.
    async fn arrival(&self, link: &Link, event: &Value) -> Option<Arrival> {
        let envelope = event.get("envelope").or_else(|| event.pointer("/params/envelope"))?;
        let text = |path: &str| envelope.pointer(path).and_then(Value::as_str);
        let message = envelope.get("dataMessage")?;
        let sender = text("/sourceUuid").or_else(|| text("/sourceNumber"))?;
        if sender == self.account || text("/sourceNumber") == Some(&self.account) {
            return None;
        }
        let stamp = message.get("timestamp").or_else(|| envelope.get("timestamp"))?.as_i64()?;
        let group = text("/dataMessage/groupInfo/groupId").map(|id| format!("group.{id}"));
        if let Some(group) = &group
            && !link.is_listed_chat(group)
        {
            return None;
        }
        let quoted = text("/dataMessage/quote/text").map(str::to_owned);
        let answers_us = text("/dataMessage/quote/authorNumber") == Some(&self.account);
        let own = |it: &Value| it.get("number").and_then(Value::as_str) == Some(&self.account);
        let mentions = message.get("mentions").and_then(Value::as_array);
        let chat = group.clone().unwrap_or_else(|| sender.to_owned());
        let mut arrival = Arrival {
            sent_ms: stamp,
            message: format!("{stamp}/{sender}"),
            chat_kind: if group.is_some() { ChatKind::Group } else { ChatKind::Dm },
            sender: Sender {
                id: Some(sender.to_owned()),
                name: text("/sourceName").unwrap_or_default().to_owned(),
                aliases: text("/sourceNumber").map(str::to_owned).into_iter().collect(),
                ..Sender::default()
            },
            addressed: group.is_none()
                || answers_us
                || mentions.is_some_and(|all| all.iter().any(own)),
            quoted: quoted.filter(|_| !answers_us),
            ..Arrival::text(
                &chat,
                "",
                &format!("{sender}/{stamp}"),
                text("/dataMessage/message").unwrap_or_default(),
            )
        };
        if let Some(emoji) = text("/dataMessage/reaction/emoji") {
            if message.pointer("/reaction/isRemove").and_then(Value::as_bool) == Some(true) {
                return None;
            }
            arrival.kind = ArrivalKind::Reaction(emoji.to_owned());
            let about = message.pointer("/reaction/targetSentTimestamp").and_then(Value::as_i64);
            arrival.message = about.map(|stamp| stamp.to_string()).unwrap_or_default();
            return Some(arrival);
        }
        let files = message.get("attachments").and_then(Value::as_array);
        for file in files.into_iter().flatten() {
            let from = arrival.clone();
            let fetched = link.fetch(&mut arrival, self.file(link, file, &from)).await;
            arrival.media.extend(fetched);
        }
        let empty = arrival.is_empty();
        (!empty).then_some(arrival)
    }

    async fn file(&self, link: &Link, file: &Value, of: &Arrival) -> Result<MediaFile, String> {
        let text = |key: &str| file.get(key).and_then(Value::as_str);
        let size = file.get("size").and_then(Value::as_u64).unwrap_or(0);
        if size > FILE_BYTES_MAX {
            return Err(format!("it has {} MB", size / 1_000_000));
        }
        let id = text("id").ok_or("it has no identity")?;
        let mut params = json!({ "account": self.account, "id": id });
        match of.chat.strip_prefix("group.") {
            Some(group) => params["groupId"] = json!(group),
            None => params["recipient"] = json!(of.chat),
        }
        let found = self.rpc("getAttachment", &params).await.map_err(|error| error.to_string())?;
        let data = found.get("data").and_then(Value::as_str).ok_or("it came without its bytes")?;
        let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data);
        let bytes = bytes.map_err(|error| error.to_string())?;
        let mime = text("contentType").unwrap_or("application/octet-stream").to_owned();
        let to = link.media_path(&mime)?;
        crate::media::keep(&to, &bytes).map_err(|error| error.to_string())?;
        let name = text("filename").unwrap_or("file").to_owned();
        Ok(MediaFile { path: to.display().to_string(), mime, name })
    }

    async fn rpc(&self, method: &str, params: &Value) -> Result<Value, SendError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = self.api.call(Method::POST, "rpc", Some(&body), CALL).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        if !answer.is_ok() {
            return Err(of_status(&answer, "signal-cli"));
        }
        let Some(error) = answer.body.get("error") else {
            return Ok(answer.body.get("result").cloned().unwrap_or_default());
        };
        let said = error.get("message").and_then(Value::as_str).unwrap_or("no reason").to_owned();
        let after = error.pointer("/data/response/results/0/retryAfterSeconds");
        Err(match (error.get("code").and_then(Value::as_i64), after.and_then(Value::as_u64)) {
            (_, Some(seconds)) => SendError::RateLimited { after: Duration::from_secs(seconds) },
            (Some(-5), _) => SendError::RateLimited { after: Duration::from_mins(1) },
            (Some(-3), _) => SendError::Transient(said),
            _ => SendError::Unreachable(said),
        })
    }

    /// Whom a lane means.
    fn to(&self, lane: &Lane) -> Value {
        match lane.chat.strip_prefix("group.") {
            Some(group) => json!({ "account": self.account, "groupId": group }),
            None => json!({ "account": self.account, "recipient": [lane.chat] }),
        }
    }
}

/// A file as signal-cli takes it: by its path, or its bytes by a `data:` address where it had
/// metadata that the one on the disk keeps.
fn attached(file: &MediaFile) -> Result<String, SendError> {
    use base64::Engine as _;
    let bytes = crate::media::read(file)?;
    if std::fs::read(&file.path).is_ok_and(|kept| kept == bytes) {
        return Ok(file.path.clone());
    }
    let bytes = base64::engine::general_purpose::STANDARD.encode(bytes);
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let name = if file.name.is_empty() { &file.path } else { &file.name };
    let last = name.rsplit('/').next().unwrap_or_default();
    let name: String = last.chars().filter(|letter| plain(*letter)).collect();
    Ok(format!("data:{};filename={name};base64,{bytes}", file.mime))
}

impl Platform for Signal {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let mut params = self.to(message.lane);
            params["message"] = json!(message.text);
            if let Some(file) = message.media {
                params["message"] = json!("");
                params["attachments"] = json!([attached(file)?]);
            }
            let sent = self.rpc("send", &params).await?;
            let stamp = sent.get("timestamp").and_then(Value::as_i64).unwrap_or_default();
            Ok(stamp.to_string())
        })
    }

    fn react<'a>(
        &'a self,
        lane: &'a Lane,
        message: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let (stamp, author) = message.split_once('/').unwrap_or((message, &self.account));
            let (Mark::Put(emoji) | Mark::Take(emoji)) = mark;
            let mut params = self.to(lane);
            params["emoji"] = json!(emoji);
            params["targetAuthor"] = json!(author);
            params["targetTimestamp"] = json!(stamp.parse::<i64>().unwrap_or_default());
            params["remove"] = json!(matches!(mark, Mark::Take(_)));
            self.rpc("sendReaction", &params).await.map(drop)
        })
    }

    fn typing<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move { self.rpc("sendTyping", &self.to(lane)).await.map(drop) })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async {
            let found = self.rpc("version", &json!({})).await;
            let found = found.map_err(|error| LinkError::Lost(error.to_string()))?;
            let version = found.get("version").and_then(Value::as_str).unwrap_or_default();
            Ok(format!("{} by signal-cli {version}", self.account))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_photograph_goes_without_its_words_and_a_plain_file_by_its_path() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("my photo.png");
        let chunk = |kind: &[u8], body: &[u8]| {
            let length = u32::try_from(body.len()).unwrap().to_be_bytes();
            [&length[..], kind, body, &[0; 4]].concat()
        };
        let photo = [
            b"\x89PNG\r\n\x1a\n".to_vec(),
            chunk(b"IHDR", &[0; 13]),
            chunk(b"eXIf", b"GPS 52.5 N"),
            chunk(b"IEND", b""),
        ];
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), &photo.concat())
            .unwrap();
        let file = MediaFile {
            path: path.display().to_string(),
            mime: "image/png".to_owned(),
            name: "my photo.png".to_owned(),
        };
        let sent = attached(&file).unwrap();
        let (head, data) = sent.split_once(";base64,").unwrap();
        assert_eq!(head, "data:image/png;filename=myphoto.png");
        let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data);
        assert!(!String::from_utf8_lossy(&bytes.unwrap()).contains("GPS"));
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), b"plain words")
            .unwrap();
        assert_eq!(attached(&file).unwrap(), file.path);
    }
}
