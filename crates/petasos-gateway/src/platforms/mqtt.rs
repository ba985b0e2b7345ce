//! `mqtt`: MQTT 5, a topic for each client. Who a client is, the broker's access list decides.
//!
//! Messages come on `<topic>/in/<client>` and are answered on `<topic>/out/<client>`, both with
//! quality 1. A message is confirmed to the broker after it is stored; the session at the broker
//! keeps what comes while we are away. The dozen packets that are needed are written here.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::stream::{self, Protection, Wire};
use petasos_net::{Origin, Url};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader, ReadHalf, WriteHalf};
use tokio::sync::oneshot;

use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, TargetId, now_ms,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "mqtt",
    about: "MQTT 5: a topic for each client",
    toolset: "hermes-mqtt",
    variables: &["MQTT_URL"],
    form: Form { dialect: Dialect::Plain, limit: 260_000, unit: Unit::Bytes },
    rates: Rates { account: Duration::from_millis(20), chat: Duration::ZERO, burst: 20 },
    repeats: Repeats::Dropped,
    setup: &[
        "set MQTT_URL (mqtts://host:8883), MQTT_USERNAME, MQTT_PASSWORD and MQTT_TOPIC (petasos when absent)",
        "let the broker bind each client's login to its own topic, and list the clients in MQTT_ALLOWED_USERS",
    ],
    tested_with: "a real mosquitto",
    target: |text| (PLATFORM.canonical)(text).map(|client| TargetId::chat(&client)),
    canonical: |id| {
        let id = id.trim();
        (!id.is_empty() && !id.contains(['/', '+', '#', '\0'])).then(|| id.to_owned())
    },
    open,
    ..PlatformDef::USUAL
};

/// The broker keeps our session for a day.
const SESSION_SECONDS: u32 = 86_400;
const KEEP_ALIVE: u16 = 60;
const LOGIN: Duration = Duration::from_secs(20);
const CONFIRM: Duration = Duration::from_secs(20);
/// The largest packet that is taken.
const PACKET_BYTES_MAX: usize = 1_048_576;

struct Mqtt {
    host: String,
    port: u16,
    tls: bool,
    user: Option<String>,
    password: Option<Secret>,
    topic: String,
    account: String,
    writer: tokio::sync::Mutex<Option<WriteHalf<Box<dyn Wire>>>>,
    next: AtomicU16,
    confirms: Mutex<HashMap<u16, oneshot::Sender<u8>>>,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let Some(text) = text_of(settings, "MQTT_URL") else { return Ok(Vec::new()) };
    let url = Url::parse(&text).map_err(|error| format!("MQTT_URL: {error}"))?;
    let tls = match url.scheme() {
        "mqtts" => true,
        "mqtt" => false,
        other => return Err(format!("MQTT_URL begins with mqtt:// or mqtts://, not {other}://")),
    };
    let Some(host) = url.host_str() else { return Err("MQTT_URL names no host".to_owned()) };
    let password = text_of(settings, "MQTT_PASSWORD").map(Secret::new);
    let local = Url::parse(&format!("http://{host}/"))
        .ok()
        .and_then(|url| Origin::of(&url))
        .is_some_and(|it| it.is_loopback());
    if password.is_some() && !tls && !local {
        return Err("a password does not travel without encryption: write mqtts://".to_owned());
    }
    let topic = text_of(settings, "MQTT_TOPIC").unwrap_or_else(|| "petasos".to_owned());
    if topic.contains(['+', '#']) {
        return Err(format!("MQTT_TOPIC `{topic}` holds a wildcard"));
    }
    Ok(vec![Arc::new(Mqtt {
        account: format!("{topic}@{host}"),
        port: url.port().unwrap_or(if tls { 8883 } else { 1883 }),
        host: host.to_owned(),
        tls,
        user: text_of(settings, "MQTT_USERNAME"),
        password,
        topic,
        writer: tokio::sync::Mutex::default(),
        next: AtomicU16::new(1),
        confirms: Mutex::default(),
    })])
}

/// A text with its length before it.
fn text(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes.get(..usize::from(length)).unwrap_or(bytes));
}

/// A packet: its kind, its length, its body.
fn packet(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    let mut left = body.len();
    loop {
        let digit = u8::try_from(left % 128).unwrap_or(0);
        left /= 128;
        out.push(if left > 0 { digit | 0x80 } else { digit });
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(body);
    out
}

/// Reads from the front of a packet.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn number(&mut self) -> Option<u16> {
        let [high, low] = self.take(2)? else { return None };
        Some(u16::from_be_bytes([*high, *low]))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number()?;
        Some(String::from_utf8_lossy(self.take(usize::from(length))?).into_owned())
    }

    fn length(&mut self) -> Option<usize> {
        let (mut value, mut shift) = (0_usize, 0);
        loop {
            let byte = *self.take(1)?.first()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
            shift += 7;
            if shift > 21 {
                return None;
            }
        }
    }
}

async fn read_packet(
    reader: &mut BufReader<ReadHalf<Box<dyn Wire>>>,
) -> std::io::Result<(u8, Vec<u8>)> {
    let kind = reader.read_u8().await?;
    let (mut length, mut shift) = (0_usize, 0);
    loop {
        let byte = reader.read_u8().await?;
        length |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
        shift += 7;
        if shift > 21 {
            return Err(std::io::Error::other("a packet with a broken length"));
        }
    }
    if length > PACKET_BYTES_MAX {
        return Err(std::io::Error::other("a packet that is too large"));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await?;
    Ok((kind, body))
}

impl Mqtt {
    fn hello(&self) -> Vec<u8> {
        let mut body = Vec::new();
        text(&mut body, "MQTT");
        let mut flags = 0_u8;
        if self.user.is_some() {
            flags |= 0x80;
        }
        if self.password.is_some() {
            flags |= 0x40;
        }
        body.extend_from_slice(&[5, flags]);
        body.extend_from_slice(&KEEP_ALIVE.to_be_bytes());
        body.push(5);
        body.push(0x11);
        body.extend_from_slice(&SESSION_SECONDS.to_be_bytes());
        text(&mut body, &format!("petasos-{}", self.topic.replace('/', "-")));
        if let Some(user) = &self.user {
            text(&mut body, user);
        }
        if let Some(password) = &self.password {
            text(&mut body, password.expose());
        }
        packet(0x10, &body)
    }

    async fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        match self.writer.lock().await.as_mut() {
            Some(writer) => writer.write_all(bytes).await,
            None => Err(std::io::Error::from(std::io::ErrorKind::NotConnected)),
        }
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let lost = |error: std::io::Error| LinkError::Lost(error.to_string());
        let protection = if self.tls { Protection::Trusted } else { Protection::Bare };
        let wire = stream::connect(&self.host, self.port, protection).await.map_err(lost)?;
        let (reader, writer) = tokio::io::split(wire);
        let mut reader = BufReader::new(reader);
        *self.writer.lock().await = Some(writer);
        self.write(&self.hello()).await.map_err(lost)?;
        let answer = tokio::time::timeout(LOGIN, read_packet(&mut reader)).await;
        let (kind, body) = answer
            .map_err(|_| LinkError::Lost("the broker does not answer".to_owned()))?
            .map_err(lost)?;
        match (kind & 0xf0, body.get(1)) {
            (0x20, Some(0)) => {}
            (0x20, Some(0x86 | 0x87 | 0x8a)) => {
                return Err(LinkError::Fatal("the broker refuses the login".to_owned()));
            }
            (_, code) => return Err(LinkError::Lost(format!("the broker answered {code:?}"))),
        }
        let mut body = vec![0, 1, 0];
        text(&mut body, &format!("{}/in/+", self.topic));
        // Quality 1, and nothing that is only retained.
        body.push(0x21);
        self.write(&packet(0x82, &body)).await.map_err(lost)?;
        let pause = Duration::from_secs(u64::from(KEEP_ALIVE) / 2);
        let mut silent = 0;
        loop {
            let Ok(next) = tokio::time::timeout(pause, read_packet(&mut reader)).await else {
                silent += 1;
                if silent > 3 {
                    return Err(LinkError::Lost("the broker is silent".to_owned()));
                }
                self.write(&packet(0xc0, &[])).await.map_err(lost)?;
                continue;
            };
            silent = 0;
            let (kind, body) = next.map_err(lost)?;
            self.packet(link, kind, &body).await?;
        }
    }

    async fn packet(&self, link: &Link, kind: u8, body: &[u8]) -> Result<(), LinkError> {
        match kind & 0xf0 {
            0x90 => link.progress(),
            0x40 => {
                let mut cursor = Cursor(body);
                let id = cursor.number().unwrap_or_default();
                let code = cursor.take(1).and_then(|it| it.first().copied()).unwrap_or(0);
                if let Some(waiting) = self.confirms.lock().remove(&id) {
                    waiting.send(code).unwrap_or_default();
                }
            }
            0x30 => {
                let quality = (kind >> 1) & 3;
                let Some((arrival, id)) = self.arrival(kind, quality, body) else {
                    return Err(LinkError::Lost("a packet that makes no sense".to_owned()));
                };
                if let Some(arrival) = arrival {
                    link.take(arrival).await?;
                }
                if quality > 0 {
                    let lost = |error: std::io::Error| LinkError::Lost(error.to_string());
                    self.write(&packet(0x40, &id.to_be_bytes())).await.map_err(lost)?;
                }
            }
            0xe0 => {
                let code = body.first().copied().unwrap_or(0);
                return Err(match code {
                    0x8e => LinkError::Taken {
                        reason: "another process has this session at the broker".to_owned(),
                        after: Duration::from_mins(5),
                    },
                    code => LinkError::Lost(format!("the broker said goodbye ({code:#x})")),
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// A published message, and the number that confirms it. Nothing inside when it is not for us.
    fn arrival(&self, kind: u8, quality: u8, body: &[u8]) -> Option<(Option<Arrival>, u16)> {
        let mut cursor = Cursor(body);
        let topic = cursor.text()?;
        let id = if quality > 0 { cursor.number()? } else { 0 };
        let properties = cursor.length()?;
        cursor.take(properties)?;
        let payload = String::from_utf8_lossy(cursor.0).into_owned();
        let client = topic.strip_prefix(&format!("{}/in/", self.topic));
        let retained = kind & 1 == 1;
        let Some(client) = client.filter(|_| !retained && !payload.trim().is_empty()) else {
            return Some((None, id));
        };
        let said: Option<Value> = serde_json::from_str(&payload).ok().filter(Value::is_object);
        let word = |key: &str| {
            said.as_ref().and_then(|it| it.get(key)).and_then(Value::as_str).map(str::to_owned)
        };
        let dedup = word("id").map_or_else(
            || {
                let digest = Sha256::digest(format!("{topic}\n{payload}\n{}", now_ms() / 60_000));
                let first =
                    digest.iter().take(8).fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
                format!("{first:016x}")
            },
            |id| format!("{client}:{id}"),
        );
        let words = word("text").unwrap_or(payload);
        Some((Some(Arrival::text(client, client, &dedup, &words)), id))
    }

    async fn publish(&self, client: &str, token: &str, words: &str) -> Result<String, SendError> {
        let id = loop {
            let id = self.next.fetch_add(1, Ordering::Relaxed);
            // Number 1 is the subscription's.
            if id > 1 {
                break id;
            }
        };
        let (confirm, confirmed) = oneshot::channel();
        self.confirms.lock().insert(id, confirm);
        let mut body = Vec::new();
        text(&mut body, &format!("{}/out/{client}", self.topic));
        body.extend_from_slice(&id.to_be_bytes());
        body.push(0);
        body.extend_from_slice(json!({ "id": token, "text": words }).to_string().as_bytes());
        let sent = self.write(&packet(0x32, &body)).await;
        sent.map_err(|error| SendError::Transient(error.to_string()))?;
        match tokio::time::timeout(CONFIRM, confirmed).await {
            Ok(Ok(code)) if code < 0x80 => Ok(token.to_owned()),
            Ok(Ok(0x87)) => {
                Err(SendError::Unreachable("the broker does not let us publish there".to_owned()))
            }
            Ok(Ok(code)) => Err(SendError::Transient(format!("the broker refused it ({code:#x})"))),
            _ => Err(SendError::Ambiguous("the broker did not confirm it".to_owned())),
        }
    }
}

impl Platform for Mqtt {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            let ended = self.read(link).await;
            *self.writer.lock().await = None;
            self.confirms.lock().clear();
            ended
        })
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(self.publish(&message.lane.chat, message.token, message.text))
    }
}
