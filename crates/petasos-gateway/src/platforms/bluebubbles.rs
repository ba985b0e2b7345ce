//! `bluebubbles`: iMessage by a BlueBubbles server on a Mac. It calls a listener of ours; what goes out
//! is its REST interface.
//!
//! The password is part of every address, so no address is ever shown. The server signs nothing:
//! the path of the listener ends with a word that only the two sides know. What came while nobody
//! listened is asked for.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::Method;
use petasos_store::{ChatKind, Lane, MediaFile};
use serde_json::{Value, json};

use crate::api::{Api, ApiAnswer, link_error, multipart, of_status, segment, send_error};
use crate::crypt::hmac_sha256;
use crate::inbound::{Hit, ListenAt, Said, listen};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, Sender, TargetId, now_ms,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "bluebubbles",
    about: "iMessage by a BlueBubbles server",
    toolset: "hermes-bluebubbles",
    variables: &["BLUEBUBBLES_SERVER_URL", "BLUEBUBBLES_PASSWORD"],
    form: Form { dialect: Dialect::Plain, limit: 4000, unit: Unit::Chars },
    rates: Rates { account: Duration::from_millis(200), chat: Duration::from_secs(1), burst: 5 },
    repeats: Repeats::Dropped,
    media_bytes_max: 100_000_000,
    typing: Some(Duration::from_secs(8)),
    hint: "The conversation is on iMessage: plain text, short answers.",
    setup: &[
        "run a BlueBubbles server on a Mac, and set BLUEBUBBLES_SERVER_URL and BLUEBUBBLES_PASSWORD",
        "set BLUEBUBBLES_WEBHOOK_HOST to an address of this machine that the Mac reaches (port 8645), when it is another one",
        "put numbers and mail addresses into BLUEBUBBLES_ALLOWED_USERS",
    ],
    tested_with: "a double built from the published collection of calls",
    direct: true,
    target: |text| {
        let text = text.trim();
        let whole = text.contains(";-;") || text.contains(";+;");
        if whole {
            Some(TargetId::chat(text))
        } else {
            canonical(text).map(|id| TargetId::chat(&format!("iMessage;-;{id}")))
        }
    },
    canonical,
    open,
    ..PlatformDef::USUAL
};

/// A number as in E.164, or a mail address.
fn canonical(id: &str) -> Option<String> {
    let id = id.trim().to_lowercase();
    if id.contains('@') {
        return (!id.contains(char::is_whitespace)).then_some(id);
    }
    let digits: String = id.chars().filter(|c| !" -()".contains(*c)).collect();
    let number = digits.strip_prefix('+')?;
    let fits = (5..=15).contains(&number.len()) && number.chars().all(|c| c.is_ascii_digit());
    fits.then_some(digits)
}

const CALL: Duration = Duration::from_secs(30);
const FILE_BYTES_MAX: u64 = 100_000_000;
/// So much is asked for after a pause, and not what is older than a day.
const MISSED_MAX: u64 = 200;
const MISSED_MS: i64 = 86_400_000;

struct BlueBubbles {
    account: String,
    password: Secret,
    api: Api,
    at: ListenAt,
    /// Whether the helper is there that typing and marks need.
    helper: Mutex<bool>,
}

fn open(opening: &Opening<'_>) -> Opened {
    let word = |name: &str| text_of(opening.settings, &format!("BLUEBUBBLES_{name}"));
    let (Some(url), Some(password)) = (word("SERVER_URL"), word("PASSWORD")) else {
        return Ok(Vec::new());
    };
    let mut at = ListenAt::of(opening, "BLUEBUBBLES_WEBHOOK", (8645, "/bluebubbles-webhook"))?;
    let secret = hmac_sha256(password.as_bytes(), b"webhook");
    at.path = format!(
        "{}/{}",
        at.path.trim_end_matches('/'),
        &secret.chars().take(32).collect::<String>()
    );
    let url = url.trim_end_matches('/');
    let account = url.rsplit('/').next().unwrap_or("mac").to_owned();
    let api = Api::new(opening.net, &format!("{url}/api/v1"), None, "bluebubbles")?;
    let helper = Mutex::new(false);
    Ok(vec![Arc::new(BlueBubbles { account, password: Secret::new(password), api, at, helper })])
}

impl BlueBubbles {
    fn path(&self, path: &str) -> String {
        let join = if path.contains('?') { '&' } else { '?' };
        format!("{path}{join}password={}", segment(self.password.expose()))
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<ApiAnswer, SendError> {
        let answer = self.api.call(method, &self.path(path), body, CALL).await;
        answer.map_err(|error| send_error(&error))
    }

    /// Tells the server where we are, unless it knows.
    async fn register(&self) -> Result<(), LinkError> {
        let lost = |error: SendError| LinkError::Lost(error.to_string());
        let url = format!("http://{}{}", self.at.address, self.at.path);
        let known = self.call(Method::GET, "webhook", None).await.map_err(lost)?;
        let known = known.body.get("data").and_then(Value::as_array).cloned().unwrap_or_default();
        if known.iter().any(|it| it.get("url").and_then(Value::as_str) == Some(&url)) {
            return Ok(());
        }
        let body = json!({ "url": url, "events": ["new-message"] });
        let made = self.call(Method::POST, "webhook", Some(&body)).await.map_err(lost)?;
        if made.is_ok() {
            Ok(())
        } else {
            Err(LinkError::Lost(format!("webhook: {}", made.status)))
        }
    }

    /// Reads what came while nobody listened. What was stored before is known by its name.
    async fn catch_up(&self, link: &Link) -> Result<(), LinkError> {
        let Some(since) = link.cursor("newest").await?.and_then(|it| it.parse::<i64>().ok()) else {
            return Ok(());
        };
        let body = json!({
            "after": since.max(now_ms() - MISSED_MS), "limit": MISSED_MAX, "sort": "ASC",
            "with": ["chat", "handle", "attachment"],
        });
        let answer = self.call(Method::POST, "message/query", Some(&body)).await;
        let answer = answer.map_err(|error| LinkError::Lost(error.to_string()))?;
        let missed = answer.body.get("data").and_then(Value::as_array).cloned();
        for message in missed.unwrap_or_default() {
            if let Some(arrival) = self.arrival(link, &message).await {
                link.take(arrival).await?;
            }
        }
        Ok(())
    }

    async fn heard(&self, link: &Link, hit: Hit) -> Said {
        let Some(body) = hit.json() else { return Said::taken() };
        if body.get("type").and_then(Value::as_str) != Some("new-message") {
            return Said::taken();
        }
        let message = body.get("data").cloned().unwrap_or_default();
        let Some(arrival) = self.arrival(link, &message).await else { return Said::taken() };
        let at = arrival.sent_ms.to_string();
        if link.take(arrival).await.is_err() || link.set_cursor("newest", &at).await.is_err() {
            return Said::again();
        }
        Said::taken()
    }

    async fn arrival(&self, link: &Link, message: &Value) -> Option<Arrival> {
        let text = |path: &str| message.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if message.get("isFromMe").and_then(Value::as_bool) != Some(false) {
            return None;
        }
        let (from, chat) = (text("/handle/address"), text("/chats/0/guid"));
        let group = chat.contains(";+;");
        let mut arrival = Arrival {
            sent_ms: message.get("dateCreated").and_then(Value::as_i64).unwrap_or_else(now_ms),
            chat_name: text("/chats/0/displayName").to_owned(),
            chat_kind: if group { ChatKind::Group } else { ChatKind::Dm },
            sender: Sender { id: Some(from.to_owned()), ..Sender::default() },
            addressed: !group,
            ..Arrival::text(chat, from, text("/guid"), text("/text").replace('\u{fffc}', "").trim())
        };
        let files = message.get("attachments").and_then(Value::as_array).cloned();
        for file in files.unwrap_or_default() {
            let fetched = link.fetch(&mut arrival, self.file(link, &file)).await;
            arrival.media.extend(fetched);
        }
        let empty = arrival.is_empty();
        (!empty && !chat.is_empty()).then_some(arrival)
    }

    async fn file(&self, link: &Link, file: &Value) -> Result<MediaFile, String> {
        let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
        let path = self.path(&format!("attachment/{}/download", segment(text("guid"))));
        let mime = match text("mimeType") {
            "" => "application/octet-stream",
            mime => mime,
        };
        let to = link.media_path(mime)?;
        // An error would show the address, and with it the password.
        let request = self.api.request(Method::GET, &path).map_err(|_| "a bad name".to_owned())?;
        self.api.download(request, &to, link.file_bytes_max(FILE_BYTES_MAX)).await?;
        let (path, name) = (to.display().to_string(), text("transferName").to_owned());
        Ok(MediaFile { path, mime: mime.to_owned(), name })
    }

    async fn send_file(
        &self,
        message: &Outgoing<'_>,
        file: &MediaFile,
    ) -> Result<ApiAnswer, SendError> {
        let bytes = crate::media::read(file)?;
        let fields = [
            ("chatGuid", message.lane.chat.as_str()),
            ("tempGuid", message.token),
            ("name", &file.name),
        ];
        let (kind, form) = multipart(&fields, ("attachment", &file.name, &file.mime, &bytes));
        let request = self.api.request(Method::POST, &self.path("message/attachment"));
        let request = request.and_then(|it| it.header("content-type", &kind));
        let request = request.map_err(|error| send_error(&error))?.body(form);
        let answer = self.api.answer(request, Duration::from_mins(2)).await;
        answer.map_err(|error| send_error(&error))
    }
}

impl Platform for BlueBubbles {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            self.probe().await?;
            self.register().await?;
            self.catch_up(link).await?;
            listen(&self.at, link, |hit| self.heard(link, hit)).await
        })
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let answer = if let Some(file) = message.media {
                self.send_file(&message, file).await?
            } else {
                let method = if *self.helper.lock() { "private-api" } else { "apple-script" };
                let body = json!({
                    "chatGuid": message.lane.chat, "tempGuid": message.token,
                    "message": message.text, "method": method,
                });
                self.call(Method::POST, "message/text", Some(&body)).await?
            };
            let said = answer.body.pointer("/error/message").or_else(|| answer.body.get("message"));
            let said = said.and_then(Value::as_str).unwrap_or("no description");
            if !answer.is_ok() {
                return Err(of_status(&answer, said));
            }
            let id = answer.body.pointer("/data/guid").and_then(Value::as_str).unwrap_or_default();
            Ok(id.to_owned())
        })
    }

    fn typing<'a>(&'a self, lane: &'a Lane) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            if !*self.helper.lock() {
                return Ok(());
            }
            let path = format!("chat/{}/typing", segment(&lane.chat));
            self.call(Method::POST, &path, Some(&json!({}))).await.map(drop)
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async move {
            let answer = self.api.call(Method::GET, &self.path("server/info"), None, CALL).await;
            let answer = answer.map_err(|error| link_error(&error))?;
            match answer.status {
                200 => {
                    let helper = answer.body.pointer("/data/private_api").and_then(Value::as_bool);
                    *self.helper.lock() = helper == Some(true);
                    Ok(self.account.clone())
                }
                401 | 403 => Err(LinkError::Fatal("BlueBubbles refuses the password".to_owned())),
                status => Err(LinkError::Lost(format!("BlueBubbles answered {status}"))),
            }
        })
    }
}
