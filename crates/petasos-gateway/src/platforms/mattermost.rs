//! `mattermost`: the WebSocket for what comes in, version 4 of the REST interface for what goes out.
//!
//! A pending identity makes a repeated send one post. After a break each channel is read on from
//! the newest post that was stored.

mod buttons;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::delivery::Mark;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Scheme};
use petasos_store::{ChatKind, Lane, MediaFile};
use serde_json::{Map, Value, json};

use crate::api::{Api, ApiAnswer, link_error, multipart, of_status, segment, send_error};
use crate::display::Progress;
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, Sender, TargetId,
};
use crate::render::{Dialect, Form, Unit};
use crate::socket::Socket;

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "mattermost",
    about: "Mattermost: channels, threads and direct messages",
    toolset: "hermes-mattermost",
    variables: &["MATTERMOST_URL", "MATTERMOST_TOKEN"],
    // Old servers take 4,000 characters; every server takes this.
    form: Form { dialect: Dialect::CommonMark, limit: 4000, unit: Unit::Chars },
    rates: Rates {
        account: Duration::from_millis(100),
        chat: Duration::from_millis(200),
        burst: 5,
    },
    repeats: Repeats::Dropped,
    progress: Progress::New,
    edits: Some(Duration::from_secs(1)),
    media_bytes_max: 100_000_000,
    typing: Some(Duration::from_secs(4)),
    mention: true,
    prefix: Some('!'),
    hint: "The conversation is on Mattermost.",
    setup: &[
        "create a bot account, add it to a team and channels, and set MATTERMOST_URL and MATTERMOST_TOKEN",
        "put user ids (26 characters) into MATTERMOST_ALLOWED_USERS, or write to the bot and pair",
    ],
    tested_with: "a double built from the published interface description",
    direct: true,
    target: |text| TargetId::usual(text).filter(|id| is_id(&id.chat)),
    canonical: |id| is_id(id.trim()).then(|| id.trim().to_owned()),
    open,
    ..PlatformDef::USUAL
};

fn is_id(text: &str) -> bool {
    text.len() == 26 && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

const CALL: Duration = Duration::from_secs(20);
/// The server pings at least this often.
const SILENCE: Duration = Duration::from_secs(90);
const FILE_BYTES_MAX: u64 = 100_000_000;
const CHANNELS_MAX: usize = 200;

struct Mattermost {
    account: String,
    token: Secret,
    api: Api,
    thread_replies: bool,
    me: Mutex<Option<Me>>,
    callback: Option<buttons::Callback>,
}

#[derive(Debug, Clone)]
struct Me {
    id: String,
    name: String,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let (Some(url), Some(token)) =
        (text_of(settings, "MATTERMOST_URL"), text_of(settings, "MATTERMOST_TOKEN"))
    else {
        return Ok(Vec::new());
    };
    let mode = text_of(settings, "MATTERMOST_REPLY_MODE");
    let mode = mode.or_else(|| settings.text("mattermost.reply_mode").map(str::to_owned));
    let thread_replies = match mode.as_deref() {
        None | Some("off") => false,
        Some("thread") => true,
        Some(other) => {
            return Err(format!("MATTERMOST_REPLY_MODE is `{other}`: write off or thread"));
        }
    };
    let key = Some((Secret::new(token.as_str()), Scheme::Bearer));
    let base = format!("{}/api/v4", url.trim_end_matches('/'));
    let api = Api::new(opening.net, &base, key, "mattermost")?;
    let account = url.trim_end_matches('/').rsplit('/').next().unwrap_or("bot").to_owned();
    let callback = buttons::Callback::of(opening, &token)?;
    let (token, me) = (Secret::new(token), Mutex::default());
    Ok(vec![Arc::new(Mattermost { account, token, api, thread_replies, me, callback })])
}

impl Mattermost {
    async fn identity(&self) -> Result<Me, LinkError> {
        let answer = self
            .api
            .call(Method::GET, "users/me", None, CALL)
            .await
            .map_err(|error| link_error(&error))?;
        match answer.status {
            200 => {
                let text = |key: &str| {
                    answer.body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
                };
                let me = Me { id: text("id"), name: text("username") };
                *self.me.lock() = Some(me.clone());
                Ok(me)
            }
            401 | 403 => Err(LinkError::Fatal("Mattermost refuses the token".to_owned())),
            status => Err(LinkError::Lost(format!("users/me: {status} {}", said(&answer)))),
        }
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let me = self.identity().await?;
        let address = self.api.url("websocket").map_err(|error| link_error(&error))?;
        let mut socket = Socket::open(self.api.net(), address.as_str()).await?;
        let login = json!({
            "seq": 1, "action": "authentication_challenge", "data": { "token": self.token.expose() },
        });
        socket.say(&login).await?;
        let mut next = 0_u64;
        let mut asked = 1_u64;
        let mut waiting = false;
        loop {
            let Some(frame) = socket.next_within(SILENCE).await? else {
                if waiting {
                    return Err(LinkError::Lost("the server gives no sign of life".to_owned()));
                }
                asked += 1;
                socket.say(&json!({ "seq": asked, "action": "ping" })).await?;
                waiting = true;
                continue;
            };
            waiting = false;
            if frame.get("status").and_then(Value::as_str) == Some("FAIL") {
                return Err(LinkError::Fatal("Mattermost refuses the token".to_owned()));
            }
            let Some(sequence) = frame.get("seq").and_then(Value::as_u64) else { continue };
            match frame.get("event").and_then(Value::as_str).unwrap_or_default() {
                "hello" => {
                    link.progress();
                    self.catch_up(link, &me).await?;
                }
                // Something was missed: the channels tell what.
                _ if sequence > next => self.catch_up(link, &me).await?,
                _ => {}
            }
            next = sequence + 1;
            if frame.get("event").and_then(Value::as_str) == Some("posted") {
                let data = frame.get("data").unwrap_or(&Value::Null);
                let post = data.get("post").and_then(Value::as_str).unwrap_or_default();
                if let Ok(post) = serde_json::from_str::<Value>(post) {
                    self.take(link, &post, data, &me).await?;
                }
            }
        }
    }

    async fn take(
        &self,
        link: &Link,
        post: &Value,
        data: &Value,
        me: &Me,
    ) -> Result<(), LinkError> {
        let text = |key: &str| post.get(key).and_then(Value::as_str).unwrap_or_default();
        let (channel, at) = (text("channel_id"), post.get("create_at").and_then(Value::as_i64));
        let Some(mut arrival) = arrival(post, data, me) else { return Ok(()) };
        let files = post.get("file_ids").and_then(Value::as_array);
        for id in files.into_iter().flatten().filter_map(Value::as_str) {
            let fetched = link.fetch(&mut arrival, self.file(link, id)).await;
            arrival.media.extend(fetched);
        }
        link.room().await;
        let kind = arrival.chat_kind;
        link.take(arrival).await?;
        let mut known = Self::newest(link).await?;
        known.insert(channel.to_owned(), json!([at.unwrap_or(0), kind.as_str()]));
        while known.len() > CHANNELS_MAX {
            let oldest = known.iter().min_by_key(|(_, it)| it.get(0).and_then(Value::as_i64));
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            known.remove(&oldest);
        }
        link.set_cursor("newest", &Value::Object(known).to_string()).await.map_err(LinkError::from)
    }

    async fn newest(link: &Link) -> Result<Map<String, Value>, LinkError> {
        let kept = link.cursor("newest").await?;
        Ok(kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// Reads what came while nobody listened. What was stored before is known by its name.
    async fn catch_up(&self, link: &Link, me: &Me) -> Result<(), LinkError> {
        for (channel, known) in Self::newest(link).await? {
            let since = known.get(0).and_then(Value::as_i64).unwrap_or(0);
            let kind = known.get(1).and_then(Value::as_str).unwrap_or("channel");
            let path = format!("channels/{}/posts?since={since}", segment(&channel));
            let answer = self.api.call(Method::GET, &path, None, CALL).await;
            let answer = answer.map_err(|error| link_error(&error))?;
            let posts = answer.body.get("posts").and_then(Value::as_object);
            let mut posts: Vec<&Value> = posts.into_iter().flat_map(Map::values).collect();
            posts.sort_by_key(|post| post.get("create_at").and_then(Value::as_i64));
            let data = json!({ "channel_type": if kind == "dm" { "D" } else { "O" } });
            for post in posts {
                if post.get("create_at").and_then(Value::as_i64) > Some(since) {
                    self.take(link, post, &data, me).await?;
                }
            }
        }
        Ok(())
    }

    async fn file(&self, link: &Link, id: &str) -> Result<MediaFile, String> {
        let path = format!("files/{}/info", segment(id));
        let info = self.api.call(Method::GET, &path, None, CALL).await;
        let info = info.map_err(|error| error.to_string())?;
        let text = |key: &str| info.body.get(key).and_then(Value::as_str).unwrap_or_default();
        let mime = Some(text("mime_type")).filter(|it| !it.is_empty());
        let mime = mime.unwrap_or("application/octet-stream").to_owned();
        let to = link.media_path(&mime)?;
        let request = self.api.request(Method::GET, &format!("files/{}", segment(id)));
        let request = request.map_err(|error| error.to_string())?;
        self.api.download(request, &to, link.file_bytes_max(FILE_BYTES_MAX)).await?;
        Ok(MediaFile { path: to.display().to_string(), mime, name: text("name").to_owned() })
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, SendError> {
        let answer = self.api.call(Method::POST, path, Some(body), CALL).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        if answer.is_ok() { Ok(answer.body) } else { Err(refused(&answer)) }
    }

    async fn upload(&self, lane: &Lane, file: &MediaFile) -> Result<String, SendError> {
        let bytes = crate::media::read(file)?;
        let fields = [("channel_id", lane.chat.as_str())];
        let (kind, form) = multipart(&fields, ("files", &file.name, &file.mime, &bytes));
        let request = self.api.request(Method::POST, "files");
        let request = request.and_then(|it| it.header("content-type", &kind));
        let request = request.map_err(|error| send_error(&error))?.body(form);
        let answer = self.api.answer(request, Duration::from_mins(1)).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        let id = answer.body.pointer("/file_infos/0/id").and_then(Value::as_str);
        id.filter(|_| answer.is_ok()).map(str::to_owned).ok_or_else(|| refused(&answer))
    }
}

/// A post in everybody's words; nothing when it is our own or the system's.
fn arrival(post: &Value, data: &Value, me: &Me) -> Option<Arrival> {
    let text = |key: &str| post.get(key).and_then(Value::as_str).unwrap_or_default();
    let about = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
    if text("user_id") == me.id || !text("type").is_empty() {
        return None;
    }
    let direct = about("channel_type") == "D";
    let named = format!("@{}", me.name);
    let said = text("message");
    let mut words =
        said.split(|c: char| !(c.is_alphanumeric() || matches!(c, '@' | '_' | '.' | '-')));
    let mentioned = words.any(|word| word.trim_end_matches('.') == named);
    let bot = post.pointer("/props/from_bot").and_then(Value::as_str) == Some("true")
        || post.pointer("/props/from_webhook").and_then(Value::as_str) == Some("true");
    Some(Arrival {
        sent_ms: post.get("create_at").and_then(Value::as_i64).unwrap_or(0),
        chat_name: about("channel_display_name").to_owned(),
        chat_kind: if direct { ChatKind::Dm } else { ChatKind::Channel },
        thread: Some(text("root_id")).filter(|it| !it.is_empty()).map(str::to_owned),
        sender: Sender {
            id: Some(text("user_id").to_owned()),
            name: about("sender_name").trim_start_matches('@').to_owned(),
            bot,
            ..Sender::default()
        },
        addressed: direct || mentioned,
        ..Arrival::text(text("channel_id"), "", text("id"), said.replace(&named, "").trim())
    })
}

fn said(answer: &ApiAnswer) -> String {
    let said = answer.body.get("message").and_then(Value::as_str);
    said.unwrap_or("no description").to_owned()
}

fn refused(answer: &ApiAnswer) -> SendError {
    let id = answer.body.get("id").and_then(Value::as_str).unwrap_or_default();
    match id {
        "api.post.create_post.root_id.app_error" => SendError::NoThread(said(answer)),
        "model.post.is_valid.message_length.app_error" | "model.post.is_valid.msg.app_error" => {
            SendError::TooLong(said(answer))
        }
        _ => of_status(answer, &said(answer)),
    }
}

impl Platform for Mattermost {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            tokio::select! {
                ended = self.read(link) => ended,
                ended = self.presses(link) => ended,
            }
        })
    }

    fn buttons(&self) -> Option<bool> {
        Some(self.callback.is_some())
    }

    fn acknowledge<'a>(&'a self, press: &'a str, word: &'a str) -> BoxFuture<'a, ()> {
        if let Some(callback) = &self.callback {
            callback.told(press, word);
        }
        Box::pin(async {})
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let answered = message.reply_to.filter(|_| self.thread_replies);
            let root = message.lane.thread.as_deref().or(answered).unwrap_or_default();
            let mut body = json!({
                "channel_id": message.lane.chat,
                "message": message.text,
                "root_id": root,
                "pending_post_id": message.token,
            });
            if let Some(callback) = self.callback.as_ref().filter(|_| !message.buttons.is_empty()) {
                let attachments = callback.attachments(message.buttons);
                body["props"] = json!({ "attachments": attachments });
            }
            if let Some(file) = message.media {
                body["file_ids"] = json!([self.upload(message.lane, file).await?]);
            }
            let post = self.post("posts", &body).await?;
            Ok(post.get("id").and_then(Value::as_str).unwrap_or_default().to_owned())
        })
    }

    fn edit<'a>(
        &'a self,
        _: &'a Lane,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let path = format!("posts/{}/patch", segment(message));
            // What was decided is no longer pressed.
            let body = json!({ "message": text, "props": { "attachments": [] } });
            let answer = self.api.call(Method::PUT, &path, Some(&body), CALL).await;
            let answer = answer.map_err(|error| send_error(&error))?;
            if answer.is_ok() { Ok(()) } else { Err(refused(&answer)) }
        })
    }

    fn react<'a>(
        &'a self,
        _: &'a Lane,
        message: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let me = self.me.lock().clone();
            let me = if let Some(me) = me {
                me
            } else {
                let found = self.identity().await;
                found.map_err(|error| SendError::Transient(error.to_string()))?
            };
            let (Mark::Put(emoji) | Mark::Take(emoji)) = mark;
            let name = match emoji {
                "👍" => "+1",
                "👎" => "-1",
                other => other.trim_matches(':'),
            };
            if matches!(mark, Mark::Put(_)) {
                let body = json!({ "user_id": me.id, "post_id": message, "emoji_name": name });
                return self.post("reactions", &body).await.map(drop);
            }
            let (post, name) = (segment(message), segment(name));
            let path = format!("users/{}/posts/{post}/reactions/{name}", segment(&me.id));
            let answer = self.api.call(Method::DELETE, &path, None, CALL).await;
            let answer = answer.map_err(|error| send_error(&error))?;
            if answer.is_ok() { Ok(()) } else { Err(refused(&answer)) }
        })
    }

    fn typing<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let parent = lane.thread.as_deref().unwrap_or_default();
            let body = json!({ "channel_id": lane.chat, "parent_id": parent });
            self.post("users/me/typing", &body).await.map(drop)
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async { self.identity().await.map(|me| format!("@{}", me.name)) })
    }
}
