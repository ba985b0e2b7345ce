//! `matrix`: the client-server interface by long polling, without encryption.
//!
//! A transaction identity makes a repeated send one message. Invitations are taken from people who
//! may write; an encrypted room is told once that it cannot be read.

mod media;
mod rooms;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, NetError, Scheme};
use petasos_store::{ChatKind, Lane};
use serde_json::{Value, json};

use crate::api::{Api, ApiAnswer, link_error, of_status, segment, send_error};
use crate::display::Progress;
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, ArrivalKind, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates,
    Repeats, SendError, Sender, TargetId, now_ms,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "matrix",
    about: "Matrix, rooms without encryption",
    toolset: "hermes-matrix",
    variables: &["MATRIX_HOMESERVER", "MATRIX_ACCESS_TOKEN"],
    form: Form { dialect: Dialect::Html, limit: 16_000, unit: Unit::Chars },
    rates: Rates { account: Duration::from_millis(20), chat: Duration::from_millis(200), burst: 5 },
    repeats: Repeats::Dropped,
    progress: Progress::New,
    edits: Some(Duration::from_millis(1500)),
    media_bytes_max: 100_000_000,
    typing: Some(Duration::from_secs(25)),
    mention: true,
    prefix: Some('!'),
    hint: "The conversation is in a Matrix room.",
    setup: &[
        "register an account for the bot and log in once to get an access token",
        "set MATRIX_HOMESERVER, MATRIX_ACCESS_TOKEN and MATRIX_ALLOWED_USERS (full identities such as @me:example.org)",
        "invite the bot into a room without encryption",
    ],
    tested_with: "a real Synapse",
    direct: true,
    home: "HOME_ROOM",
    target: |text| {
        let text = text.trim();
        if !text.starts_with('!') || text.contains(' ') {
            return None;
        }
        let (room, thread) = match text.split_once(":$") {
            Some((room, root)) => (room, Some(format!("${root}"))),
            None => (text, None),
        };
        Some(TargetId { chat: room.to_owned(), thread })
    },
    canonical: |id| {
        let id = id.trim();
        let (name, server) = id.strip_prefix('@')?.split_once(':')?;
        (!name.is_empty() && !server.is_empty()).then(|| id.to_lowercase())
    },
    open,
    ..PlatformDef::USUAL
};

/// How long the server holds an empty poll.
const POLL: Duration = Duration::from_secs(30);
const CALL: Duration = Duration::from_secs(20);
const FILE_BYTES_MAX: u64 = 100_000_000;

struct Matrix {
    account: String,
    api: Api,
    sender: Mutex<Option<String>>,
    /// Rooms of two, learned from the summary of a sync.
    direct: Mutex<std::collections::HashSet<String>>,
    /// Whether a room was seen that cannot be read.
    unread: AtomicBool,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let (Some(server), Some(token)) =
        (text_of(settings, "MATRIX_HOMESERVER"), text_of(settings, "MATRIX_ACCESS_TOKEN"))
    else {
        return Ok(Vec::new());
    };
    if text_of(settings, "MATRIX_E2EE_MODE").as_deref() == Some("required") {
        return Err(
            "encrypted rooms are required (MATRIX_E2EE_MODE), and cannot be read here".to_owned()
        );
    }
    let account = text_of(settings, "MATRIX_USER_ID").unwrap_or_else(|| server.clone());
    let key = Some((Secret::new(token), Scheme::Bearer));
    let api = Api::new(
        opening.net,
        &format!("{}/_matrix/", server.trim_end_matches('/')),
        key,
        "matrix",
    )?;
    let (sender, direct) = (Mutex::default(), Mutex::default());
    Ok(vec![Arc::new(Matrix { account, api, sender, direct, unread: AtomicBool::new(false) })])
}

impl Matrix {
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        within: Duration,
    ) -> Result<ApiAnswer, NetError> {
        self.api.call(method, &format!("client/v3/{path}"), body, within).await
    }

    async fn identity(&self) -> Result<String, LinkError> {
        let answer = self
            .call(Method::GET, "account/whoami", None, CALL)
            .await
            .map_err(|error| link_error(&error))?;
        match answer.status {
            200 => Ok(answer
                .body
                .get("user_id")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()),
            401 | 403 => Err(LinkError::Fatal(
                "the homeserver refuses the access token: log in again".to_owned(),
            )),
            status => Err(LinkError::Lost(format!("whoami: {status} {}", said(&answer)))),
        }
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        // Not to know our own identity would mean to answer ourselves.
        let me = self.identity().await?;
        *self.sender.lock() = Some(me.clone());
        let mut since = link.cursor("next_batch").await?;
        loop {
            link.room().await;
            let filter = segment(
                r#"{"room":{"timeline":{"limit":50},"state":{"lazy_load_members":true}},"presence":{"types":[]}}"#,
            );
            let wait = if since.is_some() { POLL.as_millis() } else { 0 };
            let from = since
                .as_deref()
                .map(|token| format!("&since={}", segment(token)))
                .unwrap_or_default();
            let path = format!("sync?timeout={wait}&filter={filter}{from}");
            let answer = self
                .call(Method::GET, &path, None, POLL + CALL)
                .await
                .map_err(|error| link_error(&error))?;
            match answer.status {
                200 => {}
                401 => {
                    return Err(LinkError::Fatal(
                        "the access token is no longer taken: log in again".to_owned(),
                    ));
                }
                429 => {
                    tokio::time::sleep(retry_after(&answer)).await;
                    continue;
                }
                status => return Err(LinkError::Lost(format!("sync: {status} {}", said(&answer)))),
            }
            let first = since.is_none();
            self.rooms(link, &answer.body, &me, first).await?;
            if self.unread.load(Ordering::Relaxed) {
                link.degraded("an encrypted room cannot be read");
            } else {
                link.progress();
            }
            if let Some(next) = answer.body.get("next_batch").and_then(Value::as_str) {
                link.set_cursor("next_batch", next).await?;
                since = Some(next.to_owned());
            }
        }
    }

    /// What a sync brought. The very first one is only where we begin: its timeline is the past.
    async fn rooms(
        &self,
        link: &Link,
        sync: &Value,
        me: &str,
        first: bool,
    ) -> Result<(), LinkError> {
        let empty = serde_json::Map::new();
        let part = |name: &str| {
            sync.pointer(&format!("/rooms/{name}"))
                .and_then(Value::as_object)
                .unwrap_or(&empty)
                .clone()
        };
        for (room, invite) in part("invite") {
            self.invited(link, &room, &invite, me).await?;
        }
        for (room, joined) in part("join") {
            if let Some(count) =
                joined.pointer("/summary/m.joined_member_count").and_then(Value::as_u64)
            {
                let mut direct = self.direct.lock();
                if count <= 2 {
                    direct.insert(room.clone())
                } else {
                    direct.remove(&room)
                };
            }
            let events = joined
                .pointer("/timeline/events")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            let newest_name = format!("newest:{room}");
            let newest: i64 =
                link.cursor(&newest_name).await?.and_then(|text| text.parse().ok()).unwrap_or(0);
            let limited =
                joined.pointer("/timeline/limited").and_then(Value::as_bool) == Some(true);
            let mut latest = newest;
            // What was said before we came was not said to us.
            let came = events.iter().rposition(|event| is_our_coming(event, me)).unwrap_or(0);
            for (index, event) in events.iter().enumerate() {
                let at = event.get("origin_server_ts").and_then(Value::as_i64).unwrap_or(0);
                latest = latest.max(at);
                // A gap in the timeline replays what was dealt with already.
                let is_past = first || index < came || (limited && newest > 0 && at <= newest);
                if !is_past {
                    self.event(link, &room, event, me).await?;
                }
            }
            if latest > newest {
                link.set_cursor(&newest_name, &latest.to_string()).await?;
            }
        }
        Ok(())
    }

    async fn event(
        &self,
        link: &Link,
        room: &str,
        event: &Value,
        me: &str,
    ) -> Result<(), LinkError> {
        let text =
            |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (kind, sender, id) = (text("type"), text("sender"), text("event_id"));
        if sender.is_empty() || sender == me || id.is_empty() {
            return Ok(());
        }
        let content = event.get("content").cloned().unwrap_or_default();
        let at = |path: &str| content.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let mut arrival = Arrival {
            message: id.clone(),
            sent_ms: event.get("origin_server_ts").and_then(Value::as_i64).unwrap_or_else(now_ms),
            chat_kind: if self.direct.lock().contains(room) {
                ChatKind::Dm
            } else {
                ChatKind::Group
            },
            sender: Sender { id: Some(sender.clone()), name: sender.clone(), ..Sender::default() },
            ..Arrival::text(room, &sender, &id, "")
        };
        match kind.as_str() {
            "m.room.encrypted" => {
                self.unread.store(true, Ordering::Relaxed);
                return self.tell_encrypted(link, room).await;
            }
            "m.room.tombstone" => {
                let Some(next) = at("/replacement_room") else { return Ok(()) };
                return self.moved(link, (room, &next), &sender).await;
            }
            "m.reaction" => {
                let (Some(mark), Some(target)) =
                    (at("/m.relates_to/key"), at("/m.relates_to/event_id"))
                else {
                    return Ok(());
                };
                arrival.kind = ArrivalKind::Reaction(mark);
                arrival.message = target;
            }
            "m.room.message" => {
                if at("/msgtype").as_deref() == Some("m.notice") {
                    return Ok(());
                }
                let relation = at("/m.relates_to/rel_type");
                if relation.as_deref() == Some("m.replace") {
                    arrival.kind = ArrivalKind::Edited;
                    arrival.message = at("/m.relates_to/event_id").unwrap_or_default();
                    arrival.text = at("/m.new_content/body").unwrap_or_default();
                } else {
                    arrival.text = at("/body").unwrap_or_default();
                    arrival.thread = at("/m.relates_to/event_id")
                        .filter(|_| relation.as_deref() == Some("m.thread"));
                    let mentioned =
                        content.pointer("/m.mentions/user_ids").and_then(Value::as_array);
                    let mentioned =
                        mentioned.is_some_and(|ids| ids.iter().any(|id| id.as_str() == Some(me)));
                    arrival.addressed = mentioned || arrival.text.contains(me);
                    self.attach(link, &content, &mut arrival).await;
                }
            }
            _ => return Ok(()),
        }
        link.take(arrival).await.map_err(LinkError::from)
    }

    async fn put(&self, room: &str, token: &str, body: &Value) -> Result<String, SendError> {
        let path = format!("rooms/{}/send/m.room.message/{}", segment(room), segment(token));
        let answer = self
            .call(Method::PUT, &path, Some(body), CALL)
            .await
            .map_err(|error| send_error(&error))?;
        if answer.is_ok() {
            return Ok(answer
                .body
                .get("event_id")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned());
        }
        let code = answer.body.get("errcode").and_then(Value::as_str).unwrap_or_default();
        Err(match (answer.status, code) {
            (429, _) => SendError::RateLimited { after: retry_after(&answer) },
            (_, "M_TOO_LARGE") => SendError::TooLong(said(&answer)),
            (401, _) | (_, "M_UNKNOWN_TOKEN") => SendError::Auth(said(&answer)),
            _ => of_status(&answer, &said(&answer)),
        })
    }
}

/// Whether an event of a timeline is that we joined.
fn is_our_coming(event: &Value, me: &str) -> bool {
    let text = |path: &str| event.pointer(path).and_then(Value::as_str);
    text("/type") == Some("m.room.member")
        && text("/state_key") == Some(me)
        && text("/content/membership") == Some("join")
}

/// The words of a text in our own HTML, for those who read no marks.
fn without_marks(html: &str) -> String {
    let mut out = String::new();
    for piece in html.split('<') {
        let (mark, words) = piece.split_once('>').unwrap_or(("", piece));
        if matches!(mark, "/p" | "br" | "br/" | "/li" | "/pre" | "/blockquote" | "/tr") {
            out.push('\n');
        }
        out.push_str(words);
    }
    let out = out.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    out.replace("&#39;", "'").replace("&amp;", "&").trim().to_owned()
}

fn said(answer: &ApiAnswer) -> String {
    let text = |key: &str| answer.body.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}", text("errcode"), text("error"))
}

fn retry_after(answer: &ApiAnswer) -> Duration {
    let ms = answer.body.get("retry_after_ms").and_then(Value::as_u64);
    ms.map(Duration::from_millis).or(answer.retry_after).unwrap_or(Duration::from_secs(2))
}

impl Platform for Matrix {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let mut body = match message.media {
                Some(file) => {
                    let uri = self.upload(file).await?;
                    let kind = match file.mime.split('/').next() {
                        Some("image") => "m.image",
                        Some("audio") => "m.audio",
                        Some("video") => "m.video",
                        _ => "m.file",
                    };
                    json!({ "msgtype": kind, "body": file.name, "url": uri, "info": { "mimetype": file.mime } })
                }
                None if message.unmarked => json!({ "msgtype": "m.text", "body": message.text }),
                None => json!({
                    "msgtype": "m.text",
                    "body": message.plain,
                    "format": "org.matrix.custom.html",
                    "formatted_body": message.text,
                }),
            };
            match (&message.lane.thread, message.reply_to) {
                (Some(thread), to) => {
                    let to = to.unwrap_or(thread);
                    body["m.relates_to"] = json!({
                        "rel_type": "m.thread", "event_id": thread, "is_falling_back": true,
                        "m.in_reply_to": { "event_id": to },
                    });
                }
                (None, Some(to)) => {
                    body["m.relates_to"] = json!({ "m.in_reply_to": { "event_id": to } });
                }
                (None, None) => {}
            }
            self.put(&message.lane.chat, message.token, &body).await
        })
    }

    fn edit<'a>(
        &'a self,
        lane: &'a Lane,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let plain = without_marks(text);
            let new = json!({ "msgtype": "m.text", "body": plain, "format": "org.matrix.custom.html", "formatted_body": text });
            let body = json!({
                "msgtype": "m.text", "body": format!("* {plain}"), "m.new_content": new,
                "m.relates_to": { "rel_type": "m.replace", "event_id": message },
            });
            let token = format!("edit-{message}-{}", now_ms());
            self.put(&lane.chat, &token, &body).await.map(drop)
        })
    }

    fn typing<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let Some(me) = self.sender.lock().clone() else { return Ok(()) };
            let path = format!("rooms/{}/typing/{}", segment(&lane.chat), segment(&me));
            let body = json!({ "typing": true, "timeout": 30_000 });
            self.call(Method::PUT, &path, Some(&body), CALL)
                .await
                .map(drop)
                .map_err(|error| send_error(&error))
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(self.identity())
    }
}

#[cfg(test)]
mod tests {
    use super::without_marks;

    #[test]
    fn an_edit_has_its_words_without_marks_for_those_who_read_none() {
        let html =
            "<p>a <strong>b</strong> &lt;c&gt; &amp;lt;</p><ul><li>one</li><li>two</li></ul>";
        assert_eq!(without_marks(html), "a b <c> &lt;\none\ntwo");
    }
}
