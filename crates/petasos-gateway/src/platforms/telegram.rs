//! `telegram`: the Bot API by long polling, or by a webhook where `TELEGRAM_WEBHOOK_URL` is set.
//!
//! The token is part of the address, so no address is ever shown. Updates are acknowledged by the
//! next offset or by the answer, after they are stored; what waited while we were away is read, not
//! dropped.

mod updates;
mod webhook;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use petasos_contract::delivery::Mark;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, NetError};
use petasos_store::{Lane, MediaFile};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tracing::debug;

use crate::api::{Api, ApiAnswer, link_error, multipart, of_status, send_error};
use crate::link::Link;
use crate::menu::{MenuItem, MenuLimits};
use crate::options::text_of;
use crate::platform::{
    LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats, SendError,
    TargetId,
};
use crate::render::{Dialect, Form, Unit};

use self::webhook::Webhook;

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "telegram",
    about: "Telegram by the Bot API",
    toolset: "hermes-telegram",
    variables: &["TELEGRAM_BOT_TOKEN"],
    form: Form { dialect: Dialect::TelegramHtml, limit: 4096, unit: Unit::Utf16 },
    rates: Rates { account: Duration::from_millis(34), chat: Duration::from_secs(1), burst: 3 },
    repeats: Repeats::Seen,
    buttons: true,
    streaming: true,
    edits: Some(Duration::from_secs(1)),
    media_bytes_max: 50_000_000,
    typing: Some(Duration::from_secs(4)),
    hint: "The conversation is on Telegram: keep answers short; files are sent with MEDIA:/path on a line of its own.",
    setup: &[
        "talk to @BotFather, /newbot, and put the token into TELEGRAM_BOT_TOKEN",
        "put your own numeric id into TELEGRAM_ALLOWED_USERS, or write to the bot and pair",
        "for groups, turn privacy mode off with /setprivacy",
        "for a webhook, set TELEGRAM_WEBHOOK_URL and TELEGRAM_WEBHOOK_SECRET; the listener is at port 8443",
    ],
    tested_with: "a double built from the Bot API reference",
    direct: true,
    target: |text| {
        let public = text.strip_prefix('@').filter(|name| !name.contains([':', ' ']));
        public.map_or_else(|| TargetId::number(text), |_| Some(TargetId::chat(text)))
    },
    canonical: |id| {
        let digits = id.trim().strip_prefix('-').unwrap_or(id.trim());
        (!digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
            .then(|| id.trim().to_owned())
    },
    open,
    ..PlatformDef::USUAL
};

/// How long the server holds an empty poll.
const POLL: Duration = Duration::from_secs(50);
const CALL: Duration = Duration::from_secs(20);
const UPDATES: &[&str] =
    &["message", "edited_message", "callback_query", "message_reaction", "my_chat_member"];
/// The largest file that the server gives.
const FILE_BYTES_MAX: u64 = 20_000_000;

struct Telegram {
    account: String,
    api: Api,
    files: Api,
    poll: Duration,
    webhook: Option<Webhook>,
    /// How often another process was in the way, one after the other.
    conflicts: AtomicUsize,
}

/// The chat in which an update happened, whatever kind it is.
fn chat_of(update: &Value) -> Option<i64> {
    let kinds = ["message", "edited_message", "callback_query", "message_reaction"];
    kinds.iter().find_map(|kind| {
        let event = update.get(*kind)?;
        let chat = event.pointer("/chat/id").or_else(|| event.pointer("/message/chat/id"));
        chat.and_then(Value::as_i64)
    })
}

fn open(opening: &Opening<'_>) -> Opened {
    let settings = opening.settings;
    let Some(tokens) = text_of(settings, "TELEGRAM_BOT_TOKEN") else { return Ok(Vec::new()) };
    let at = |key: &str, usual: &str| {
        let full = settings.text(&format!("platforms.telegram.{key}"));
        full.or_else(|| settings.text(&format!("telegram.{key}"))).unwrap_or(usual).to_owned()
    };
    let base = at("base_url", "https://api.telegram.org/bot");
    let files = at("base_file_url", "https://api.telegram.org/file/bot");
    let poll = settings.get("telegram.poll_seconds").and_then(Value::as_u64);
    let poll = poll.map_or(POLL, Duration::from_secs);
    let webhook = Webhook::of(opening)?;
    if webhook.is_some() && tokens.split(',').count() > 1 {
        return Err("TELEGRAM_WEBHOOK_URL is for one bot: several are polled".to_owned());
    }
    // Several bots, with a comma between their tokens, are several accounts.
    let accounts =
        tokens.split(',').map(str::trim).filter(|token| !token.is_empty()).map(|token| {
            let id = account_of(token)?;
            let token = Secret::new(token);
            let api = |base: &str| {
                let base = format!("{}{}", base.trim_end_matches('/'), token.expose());
                Api::new(opening.net, &base, None, "telegram")
            };
            let webhook = webhook.clone();
            let (api, files) = (api(&base)?, api(&files)?);
            let conflicts = AtomicUsize::new(0);
            let account = Telegram { account: id, api, files, poll, webhook, conflicts };
            Ok(Arc::new(account) as Arc<dyn Platform>)
        });
    accounts.collect()
}

/// The number of a bot, from its token.
fn account_of(token: &str) -> Result<String, String> {
    let id = token.split_once(':').map(|(id, _)| id).unwrap_or_default();
    let fits = !id.is_empty()
        && id.chars().all(|c| c.is_ascii_digit())
        && token.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '-'));
    if !fits {
        return Err(
            "TELEGRAM_BOT_TOKEN does not look like a token: copy it from @BotFather".to_owned()
        );
    }
    Ok(id.to_owned())
}

/// Updates with their numbers, in order.
type Numbered<'a> = Vec<(i64, &'a Value)>;

impl Telegram {
    async fn call(
        &self,
        method: &str,
        body: &Value,
        within: Duration,
    ) -> Result<ApiAnswer, NetError> {
        self.api.call(Method::POST, method, Some(body), within).await
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let me = self.identity().await?;
        if let Some(webhook) = &self.webhook {
            return self.serve(link, webhook, &me).await;
        }
        self.show_menu(link).await;
        let mut offset: i64 =
            link.cursor("offset").await?.and_then(|text| text.parse().ok()).unwrap_or(0);
        loop {
            link.room().await;
            let body = json!({ "offset": offset, "timeout": self.poll.as_secs(), "allowed_updates": UPDATES });
            let answer = self
                .call("getUpdates", &body, self.poll + CALL)
                .await
                .map_err(|error| link_error(&error))?;
            let updates = match (answer.status, answer.body.get("result").and_then(Value::as_array))
            {
                (200, Some(updates)) => updates.clone(),
                (409, _) if description(&answer).contains("webhook is active") => {
                    self.leave_webhook().await?;
                    continue;
                }
                (409, _) => return Err(self.taken()),
                (401 | 404, _) => {
                    return Err(LinkError::Fatal("Telegram refuses the token".to_owned()));
                }
                (429, _) => {
                    tokio::time::sleep(retry_after(&answer)).await;
                    continue;
                }
                (status, _) => {
                    return Err(LinkError::Lost(format!(
                        "getUpdates: {status} {}",
                        description(&answer)
                    )));
                }
            };
            link.progress();
            self.conflicts.store(0, Ordering::Relaxed);
            self.take_all(link, &updates, &me).await?;
            let last = updates.iter().filter_map(|it| it.get("update_id")?.as_i64()).max();
            offset = last.map_or(offset, |last| offset.max(last + 1));
            if !updates.is_empty() {
                link.set_cursor("offset", &offset.to_string()).await?;
            }
        }
    }

    /// Stores updates: those of a chat in their order, those of several beside each other, because
    /// each waits for the disk.
    async fn take_all(&self, link: &Link, updates: &[Value], me: &Me) -> Result<(), LinkError> {
        const BESIDE: usize = 32;
        // Where a chat moves, what follows it elsewhere comes afterwards.
        let moves = updates.iter().any(|it| {
            it.pointer("/message/migrate_to_chat_id").is_some()
                || it.pointer("/message/migrate_from_chat_id").is_some()
        });
        let mut chats: Vec<(Option<i64>, Numbered<'_>)> = Vec::new();
        for update in updates {
            let Some(id) = update.get("update_id").and_then(Value::as_i64) else { continue };
            let chat = chat_of(update).filter(|_| !moves);
            match chats.iter_mut().find(|(known, _)| *known == chat) {
                Some((_, own)) => own.push((id, update)),
                None => chats.push((chat, vec![(id, update)])),
            }
        }
        let mut chats = chats.into_iter();
        let mut open: FuturesUnordered<BoxFuture<'_, Result<(), LinkError>>> =
            FuturesUnordered::new();
        let mut result = Ok(());
        loop {
            while open.len() < BESIDE
                && let Some((_, own)) = chats.next()
            {
                open.push(Box::pin(self.take_chat(link, own, me)));
            }
            match open.next().await {
                // All of them end before an error is told: what was stored is stored.
                Some(ended) => result = result.and(ended),
                None => return result,
            }
        }
    }

    /// Stores the updates of one chat, in their order.
    async fn take_chat(
        &self,
        link: &Link,
        own: Vec<(i64, &Value)>,
        me: &Me,
    ) -> Result<(), LinkError> {
        for (id, update) in own {
            if let Some(arrival) = self.arrival(link, update, id, me).await {
                link.take(arrival).await?;
            }
        }
        Ok(())
    }

    /// Another process reads the same bot: its poll may live for half a minute, and two that fight
    /// for it are of no use to anybody.
    fn taken(&self) -> LinkError {
        const PAUSES: [u64; 5] = [10, 20, 30, 40, 50];
        const LONG: u64 = 300;
        let before = self.conflicts.fetch_add(1, Ordering::Relaxed);
        let pause = PAUSES.get(before).copied().unwrap_or(LONG);
        let reason = format!(
            "another process reads bot {}: stop it, or use another token; tried again in {pause} s",
            self.account
        );
        LinkError::Taken { reason, after: Duration::from_secs(pause) }
    }

    /// Puts the commands into the menu of the bot, when they are others than last time. A menu is
    /// nice to have: whoever cannot be shown one can type.
    async fn show_menu(&self, link: &Link) {
        const LIMITS: MenuLimits = MenuLimits { items: 100, name: 32, about: 256 };
        let entry = |it: MenuItem| json!({ "command": it.name, "description": it.about });
        let commands: Vec<Value> = link.menu(LIMITS).await.into_iter().map(entry).collect();
        let body = json!({ "commands": commands });
        let shown = format!("{:x}", Sha256::digest(body.to_string()));
        if link.cursor("menu").await.is_ok_and(|kept| kept.as_deref() == Some(&shown)) {
            return;
        }
        let answer = self.call("setMyCommands", &body, CALL).await;
        if answer.is_ok_and(|answer| answer.status == 200)
            && let Err(error) = link.set_cursor("menu", &shown).await
        {
            debug!(%error, "the menu is shown again at the next start");
        }
    }

    async fn identity(&self) -> Result<Me, LinkError> {
        let answer =
            self.call("getMe", &json!({}), CALL).await.map_err(|error| link_error(&error))?;
        match answer.status {
            200 => {
                let name = answer.body.pointer("/result/username").and_then(Value::as_str);
                Ok(Me { id: self.account.clone(), name: name.unwrap_or_default().to_lowercase() })
            }
            401 | 404 => Err(LinkError::Fatal(
                "Telegram refuses the token: copy it again from @BotFather".to_owned(),
            )),
            status => Err(LinkError::Lost(format!("getMe: {status} {}", description(&answer)))),
        }
    }

    async fn post(&self, method: &str, body: &Value) -> Result<String, SendError> {
        let answer = self.call(method, body, CALL).await.map_err(|error| send_error(&error))?;
        Self::name_of(&answer)
    }

    fn name_of(answer: &ApiAnswer) -> Result<String, SendError> {
        // Telegram may answer 200 and still say no.
        if answer.status == 200 && answer.body.get("ok").and_then(Value::as_bool) == Some(true) {
            let id = answer.body.pointer("/result/message_id").and_then(Value::as_i64);
            return Ok(id.unwrap_or_default().to_string());
        }
        let said = description(answer);
        let lower = said.to_lowercase();
        Err(match answer.status {
            429 => SendError::RateLimited { after: retry_after(answer) },
            400 if lower.contains("can't parse entities") => SendError::BadFormat(said),
            400 if lower.contains("too long") => SendError::TooLong(said),
            400 if lower.contains("thread not found")
                || lower.contains("message to be replied not found") =>
            {
                SendError::NoThread(said)
            }
            200 => SendError::Transient(said),
            _ => of_status(answer, &said),
        })
    }

    async fn send_file(
        &self,
        message: &Outgoing<'_>,
        file: &MediaFile,
    ) -> Result<String, SendError> {
        let bytes = crate::media::read(file)?;
        let (method, field) = match file.mime.split('/').next() {
            Some("image") if bytes.len() <= 10_000_000 => ("sendPhoto", "photo"),
            Some("audio") if file.mime == "audio/ogg" => ("sendVoice", "voice"),
            Some("audio") => ("sendAudio", "audio"),
            Some("video") if file.mime == "video/mp4" => ("sendVideo", "video"),
            _ => ("sendDocument", "document"),
        };
        let mut fields = vec![("chat_id", message.lane.chat.as_str())];
        fields.extend(message.lane.thread.as_deref().map(|thread| ("message_thread_id", thread)));
        let (kind, body) = multipart(&fields, (field, &file.name, &file.mime, &bytes));
        let request =
            self.api.request(Method::POST, method).and_then(|it| it.header("content-type", &kind));
        let request = request.map_err(|error| send_error(&error))?.body(body);
        let answer = self
            .api
            .answer(request, Duration::from_mins(1))
            .await
            .map_err(|error| send_error(&error))?;
        Self::name_of(&answer)
    }
}

/// Who we are there.
struct Me {
    id: String,
    name: String,
}

fn description(answer: &ApiAnswer) -> String {
    let said = answer.body.get("description").and_then(Value::as_str);
    said.unwrap_or("no description").to_owned()
}

fn retry_after(answer: &ApiAnswer) -> Duration {
    let seconds = answer.body.pointer("/parameters/retry_after").and_then(Value::as_u64);
    Duration::from_secs(seconds.unwrap_or(5))
}

impl Platform for Telegram {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            if let Some(file) = message.media {
                return self.send_file(&message, file).await;
            }
            let mut body = json!({
                "chat_id": message.lane.chat,
                "text": message.text,
                "link_preview_options": { "is_disabled": true },
            });
            if !message.unmarked {
                body["parse_mode"] = json!("HTML");
            }
            if let Some(thread) =
                message.lane.thread.as_deref().and_then(|it| it.parse::<i64>().ok())
            {
                body["message_thread_id"] = json!(thread);
            }
            if let Some(to) = message.reply_to.and_then(|it| it.parse::<i64>().ok()) {
                body["reply_parameters"] =
                    json!({ "message_id": to, "allow_sending_without_reply": true });
            }
            if !message.buttons.is_empty() {
                let row = |button: &petasos_store::CardButton| json!([{ "text": button.label, "callback_data": button.data }]);
                let keys: Vec<Value> = message.buttons.iter().map(row).collect();
                body["reply_markup"] = json!({ "inline_keyboard": keys });
            }
            self.post("sendMessage", &body).await
        })
    }

    fn edit<'a>(
        &'a self,
        lane: &'a Lane,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let id: i64 = message.parse().unwrap_or_default();
            let body = json!({ "chat_id": lane.chat, "message_id": id, "text": text, "parse_mode": "HTML" });
            self.post("editMessageText", &body).await.map(drop)
        })
    }

    fn react<'a>(
        &'a self,
        lane: &'a Lane,
        message: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let id: i64 = message.parse().unwrap_or_default();
            let marks = match mark {
                Mark::Put(emoji) => json!([{ "type": "emoji", "emoji": emoji }]),
                Mark::Take(_) => json!([]),
            };
            let body = json!({ "chat_id": lane.chat, "message_id": id, "reaction": marks });
            self.post("setMessageReaction", &body).await.map(drop)
        })
    }

    fn typing<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let body = json!({ "chat_id": lane.chat, "action": "typing" });
            self.post("sendChatAction", &body).await.map(drop)
        })
    }

    fn acknowledge<'a>(&'a self, press: &'a str, word: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let word: String = word.chars().take(190).collect();
            let body = json!({ "callback_query_id": press, "text": word });
            if let Err(error) = self.post("answerCallbackQuery", &body).await {
                tracing::debug!(%error, "a press is not confirmed");
            }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async { self.identity().await.map(|me| format!("@{}", me.name)) })
    }
}
