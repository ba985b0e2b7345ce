//! `slack`: Socket Mode for what comes in, the Web API for what goes out.
//!
//! An envelope is confirmed after what it brought is stored, and not at all when that takes too
//! long: Slack brings it again. One text arrives as a message and as a mention; channel and time
//! name it. A message that may have been sent is looked up by its metadata.

mod event;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::delivery::Mark;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Scheme};
use petasos_store::{CardButton, Lane, MediaFile};
use serde_json::{Value, json};

use crate::api::{Api, ApiAnswer, link_error, of_status, send_error};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, TargetId,
};
use crate::render::{Dialect, Form, Unit};
use crate::socket::Socket;

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "slack",
    about: "Slack by Socket Mode",
    toolset: "hermes-slack",
    variables: &["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"],
    form: Form { dialect: Dialect::CommonMark, limit: 11_500, unit: Unit::Chars },
    rates: Rates { account: Duration::from_millis(20), chat: Duration::from_secs(1), burst: 3 },
    repeats: Repeats::Looked,
    buttons: true,
    edits: Some(Duration::from_millis(1200)),
    media_bytes_max: 1_000_000_000,
    mention: true,
    prefix: Some('!'),
    hint: "The conversation is on Slack; commands in threads begin with an exclamation mark.",
    setup: &[
        "create an app at api.slack.com/apps with Socket Mode, and put its app-level token (connections:write) into SLACK_APP_TOKEN",
        "add the bot scopes chat:write, app_mentions:read, channels:history, groups:history, im:history, files:read, files:write, reactions:write, install it, and put the bot token into SLACK_BOT_TOKEN",
        "subscribe to message.channels, message.groups, message.im and app_mention; put member ids into SLACK_ALLOWED_USERS",
    ],
    tested_with: "a double built from the published method and event reference",
    direct: true,
    target: |text| TargetId::usual(text).filter(|id| is_id(&id.chat)),
    canonical: |id| is_id(id.trim()).then(|| id.trim().to_owned()),
    open,
    ..PlatformDef::USUAL
};

/// Ids of channels, groups, direct chats and people.
fn is_id(text: &str) -> bool {
    text.len() > 4
        && text.starts_with(['C', 'D', 'G', 'U', 'W'])
        && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
}

const CALL: Duration = Duration::from_secs(20);
/// Slack wants a confirmation within three seconds; a slower one is left to its retry.
const CONFIRM: Duration = Duration::from_secs(2);
/// A socket that says nothing for so long is gone.
const SILENCE: Duration = Duration::from_mins(2);
const FILE_BYTES_MAX: u64 = 128_000_000;
/// The name of our metadata on messages.
const EVENT: &str = "petasos_message";

struct Slack {
    account: String,
    api: Api,
    app: Api,
    files: Api,
    /// Who we are: member and bot.
    me: Mutex<Option<Me>>,
}

#[derive(Debug, Clone)]
struct Me {
    user: String,
    bot: String,
    name: String,
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let (Some(token), Some(app)) =
        (text_of(settings, "SLACK_BOT_TOKEN"), text_of(settings, "SLACK_APP_TOKEN"))
    else {
        return Ok(Vec::new());
    };
    if !app.starts_with("xapp-") {
        return Err("SLACK_APP_TOKEN is no app-level token: it begins with xapp-".to_owned());
    }
    let base = settings.text("platforms.slack.base_url").or(settings.text("slack.base_url"));
    let base = base.unwrap_or("https://slack.com/api");
    let files = settings.text("slack.files_url").unwrap_or("https://files.slack.com");
    let api = |base: &str, token: &str| {
        Api::new(opening.net, base, Some((Secret::new(token), Scheme::Bearer)), "slack")
    };
    let account = text_of(settings, "SLACK_TEAM").unwrap_or_else(|| "bot".to_owned());
    Ok(vec![Arc::new(Slack {
        account,
        api: api(base, &token)?,
        app: api(base, &app)?,
        files: api(files, &token)?,
        me: Mutex::default(),
    })])
}

impl Slack {
    async fn identity(&self) -> Result<Me, LinkError> {
        let known = self.me.lock().clone();
        if let Some(me) = known {
            return Ok(me);
        }
        let answer = self
            .api
            .call(Method::POST, "auth.test", Some(&json!({})), CALL)
            .await
            .map_err(|error| link_error(&error))?;
        if !is_ok(&answer) {
            return Err(link_refused("auth.test", &answer));
        }
        let text =
            |key: &str| answer.body.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let me = Me { user: text("user_id"), bot: text("bot_id"), name: text("user") };
        *self.me.lock() = Some(me.clone());
        Ok(me)
    }

    async fn connect(&self) -> Result<Socket, LinkError> {
        let answer = self
            .app
            .call(Method::POST, "apps.connections.open", Some(&json!({})), CALL)
            .await
            .map_err(|error| link_error(&error))?;
        if !is_ok(&answer) {
            return Err(link_refused("apps.connections.open", &answer));
        }
        let url = answer.body.get("url").and_then(Value::as_str).unwrap_or_default();
        Socket::open(self.app.net(), url).await
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let me = self.identity().await?;
        let mut socket = self.connect().await?;
        loop {
            let Some(frame) = socket.next_within(SILENCE).await? else {
                return Err(LinkError::Lost("Slack says nothing".to_owned()));
            };
            match frame.get("type").and_then(Value::as_str).unwrap_or_default() {
                "hello" => link.progress(),
                // The next connection is there before the old one goes.
                "disconnect" => socket = self.connect().await?,
                kind => {
                    let Some(envelope) = frame.get("envelope_id").and_then(Value::as_str) else {
                        continue;
                    };
                    let payload = frame.get("payload").unwrap_or(&Value::Null);
                    let arrival = match kind {
                        "events_api" => self.arrived(link, payload, &me).await,
                        "interactive" => event::press(payload),
                        "slash_commands" => event::slash(payload, envelope),
                        _ => None,
                    };
                    if let Some(arrival) = arrival {
                        link.room().await;
                        let taken = tokio::time::timeout(CONFIRM, link.take(arrival)).await;
                        let Ok(taken) = taken else {
                            tracing::warn!("storing took too long: Slack will bring it again");
                            continue;
                        };
                        taken?;
                    }
                    socket.say(&json!({ "envelope_id": envelope })).await?;
                }
            }
        }
    }

    async fn arrived(&self, link: &Link, payload: &Value, me: &Me) -> Option<Arrival> {
        let brought = payload.get("event")?;
        let mut arrival = event::arrival(brought, me)?;
        for file in brought.get("files").and_then(Value::as_array).into_iter().flatten() {
            let fetched = link.fetch(&mut arrival, self.file(link, file)).await;
            arrival.media.extend(fetched);
        }
        let empty = arrival.is_empty();
        (!empty).then_some(arrival)
    }

    /// Files are fetched from Slack's own host, with the token that goes nowhere else.
    async fn file(&self, link: &Link, file: &Value) -> Result<MediaFile, String> {
        let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
        let url =
            petasos_net::checked_url(text("url_private_download")).map_err(|it| it.to_string())?;
        let own = self.files.url("").map_err(|error| error.to_string())?;
        if url.origin() != own.origin() {
            return Err(format!("`{}` is no host of Slack's", url.host_str().unwrap_or_default()));
        }
        let (mime, name) = (text("mimetype").to_owned(), text("name").to_owned());
        let mime = if mime.is_empty() { "application/octet-stream".to_owned() } else { mime };
        let request = self.files.request(Method::GET, url.as_str());
        let request = request.map_err(|error| error.to_string())?;
        let to = link.media_path(&mime)?;
        self.api.download(request, &to, link.file_bytes_max(FILE_BYTES_MAX)).await?;
        Ok(MediaFile { path: to.display().to_string(), mime, name })
    }

    async fn post(&self, method: &str, body: &Value) -> Result<Value, SendError> {
        let answer = self.api.call(Method::POST, method, Some(body), CALL).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        if is_ok(&answer) { Ok(answer.body) } else { Err(refused(&answer)) }
    }

    fn body(message: &Outgoing<'_>) -> Value {
        let mut body = json!({
            "channel": message.lane.chat,
            "text": harmless(message.plain),
            "unfurl_links": false,
            "metadata": { "event_type": EVENT, "event_payload": { "token": message.token } },
        });
        if let Some(thread) = &message.lane.thread {
            body["thread_ts"] = json!(thread);
        }
        let mut blocks = Vec::new();
        if !message.unmarked {
            blocks.push(json!({ "type": "markdown", "text": harmless(message.text) }));
        }
        let button = |it: &CardButton| {
            json!({
                "type": "button",
                "text": { "type": "plain_text", "text": it.label },
                "value": it.data,
                "action_id": it.data,
            })
        };
        if !message.buttons.is_empty() {
            let buttons: Vec<Value> = message.buttons.iter().map(button).collect();
            blocks.push(json!({ "type": "actions", "elements": buttons }));
        }
        if !blocks.is_empty() {
            body["blocks"] = Value::Array(blocks);
        }
        body
    }

    /// A file in three steps: a place for it, its bytes, and the channel that shows it.
    async fn upload(&self, lane: &Lane, file: &MediaFile) -> Result<String, SendError> {
        let bytes = crate::media::read(file)?;
        let path = format!(
            "files.getUploadURLExternal?filename={}&length={}",
            crate::api::segment(&file.name),
            bytes.len()
        );
        let answer = self.api.call(Method::GET, &path, None, CALL).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        if !is_ok(&answer) {
            return Err(refused(&answer));
        }
        let text = |key: &str| answer.body.get(key).and_then(Value::as_str).unwrap_or_default();
        let url = petasos_net::checked_url(text("upload_url"))
            .map_err(|error| SendError::Transient(error.to_string()))?;
        let id = text("file_id").to_owned();
        let request = petasos_net::Request::new(Method::POST, url).body(bytes);
        let put = self.api.answer(request, Duration::from_mins(2)).await;
        let put = put.map_err(|error| send_error(&error))?;
        if !put.is_ok() {
            return Err(of_status(&put, "the upload"));
        }
        let mut body = json!({ "files": [{ "id": id }], "channel_id": lane.chat });
        if let Some(thread) = &lane.thread {
            body["thread_ts"] = json!(thread);
        }
        self.post("files.completeUploadExternal", &body).await?;
        Ok(id)
    }
}

/// `<!channel>` and the like call everybody; words of a model do not.
fn harmless(text: &str) -> String {
    text.replace("<!", "<\u{200b}!")
}

fn is_ok(answer: &ApiAnswer) -> bool {
    answer.is_ok() && answer.body.get("ok").and_then(Value::as_bool) == Some(true)
}

fn said(answer: &ApiAnswer) -> String {
    let said = answer.body.get("error").and_then(Value::as_str).unwrap_or("no reason");
    match answer.body.get("needed").and_then(Value::as_str) {
        Some(scope) => format!("{said}: the scope {scope} is missing"),
        None => said.to_owned(),
    }
}

/// Words by which Slack refuses the account itself.
fn is_auth(word: &str) -> bool {
    matches!(
        word,
        "invalid_auth" | "not_authed" | "account_inactive" | "token_revoked" | "token_expired"
    )
}

fn link_refused(method: &str, answer: &ApiAnswer) -> LinkError {
    let said = said(answer);
    if is_auth(&said) || said.contains("scope") || said == "not_allowed_token_type" {
        return LinkError::Fatal(format!("Slack refuses the token ({method}): {said}"));
    }
    LinkError::Lost(format!("{method}: {} {said}", answer.status))
}

fn refused(answer: &ApiAnswer) -> SendError {
    let said = said(answer);
    let wait = answer.retry_after.unwrap_or(Duration::from_secs(5));
    match said.as_str() {
        word if answer.status == 429 || matches!(word, "ratelimited" | "rate_limited") => {
            SendError::RateLimited { after: wait }
        }
        word if is_auth(word) => SendError::Auth(said),
        "msg_too_long" | "msg_blocks_too_long" => SendError::TooLong(said),
        "invalid_blocks" | "invalid_blocks_format" => SendError::BadFormat(said),
        "thread_not_found" | "cannot_reply_to_message" => SendError::NoThread(said),
        "internal_error" | "fatal_error" | "service_unavailable" => SendError::Ambiguous(said),
        _ if answer.is_ok() => SendError::Unreachable(said),
        _ => of_status(answer, &said),
    }
}

impl Platform for Slack {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            if let Some(file) = message.media {
                return self.upload(message.lane, file).await;
            }
            let sent = self.post("chat.postMessage", &Self::body(&message)).await?;
            Ok(sent.get("ts").and_then(Value::as_str).unwrap_or_default().to_owned())
        })
    }

    fn find<'a>(
        &'a self,
        lane: &'a Lane,
        token: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, SendError>> {
        Box::pin(async move {
            let mut body =
                json!({ "channel": lane.chat, "limit": 50, "include_all_metadata": true });
            let method = match &lane.thread {
                Some(thread) => {
                    body["ts"] = json!(thread);
                    "conversations.replies"
                }
                None => "conversations.history",
            };
            let found = self.post(method, &body).await?;
            let ours = |it: &&Value| {
                it.pointer("/metadata/event_payload/token").and_then(Value::as_str) == Some(token)
            };
            let messages = found.get("messages").and_then(Value::as_array);
            let message = messages.into_iter().flatten().find(ours);
            Ok(message.and_then(|it| it.get("ts")).and_then(Value::as_str).map(str::to_owned))
        })
    }

    fn edit<'a>(
        &'a self,
        lane: &'a Lane,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let text = harmless(text);
            let blocks = json!([{ "type": "markdown", "text": text }]);
            let body =
                json!({ "channel": lane.chat, "ts": message, "text": text, "blocks": blocks });
            self.post("chat.update", &body).await.map(drop)
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
                Mark::Put(emoji) => ("reactions.add", emoji),
                Mark::Take(emoji) => ("reactions.remove", emoji),
            };
            let name = match emoji {
                "👍" => "+1",
                "👎" => "-1",
                "👀" => "eyes",
                "✅" => "white_check_mark",
                "❌" => "x",
                other => other.trim_matches(':'),
            };
            let body = json!({ "channel": lane.chat, "timestamp": message, "name": name });
            self.post(method, &body).await.map(drop)
        })
    }

    fn acknowledge<'a>(&'a self, press: &'a str, word: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut parts = press.split('/');
            let (Some(channel), Some(user)) = (parts.next(), parts.next()) else { return };
            let body = json!({ "channel": channel, "user": user, "text": harmless(word) });
            if let Err(error) = self.post("chat.postEphemeral", &body).await {
                tracing::debug!(%error, "a press is not confirmed");
            }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async { self.identity().await.map(|me| format!("@{}", me.name)) })
    }
}
