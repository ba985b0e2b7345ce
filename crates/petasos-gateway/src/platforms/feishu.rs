//! `feishu`: a bot of Feishu or Lark. The server calls a listener of ours with events; what goes out is
//! the open platform's REST interface.
//!
//! Events are signed, and sealed where a key is set; the first call is answered only with the right
//! token. Answers are cards, which take Markdown, buttons and other words later. A `uuid` makes a
//! repeated send one message.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::delivery::Mark;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Scheme};
use petasos_store::{CardButton, ChatKind, Lane, MediaFile};
use serde_json::{Value, json};

use crate::api::{Api, ApiAnswer, multipart, of_status, segment, send_error};
use crate::crypt::{hex, opened, same, sha256, unbased};
use crate::inbound::{Hit, ListenAt, Said, listen};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, ArrivalKind, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates,
    Repeats, SendError, Sender, TargetId,
};
use crate::render::{Dialect, Form, Unit};
use crate::token::{Fetched, Tokens};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "feishu",
    about: "Feishu and Lark: chats, groups and topics",
    toolset: "hermes-feishu",
    variables: &["FEISHU_APP_ID", "FEISHU_APP_SECRET", "FEISHU_VERIFICATION_TOKEN"],
    form: Form { dialect: Dialect::CommonMark, limit: 8000, unit: Unit::Chars },
    rates: Rates { account: Duration::from_millis(20), chat: Duration::from_millis(200), burst: 5 },
    repeats: Repeats::Dropped,
    buttons: true,
    edits: Some(Duration::from_millis(500)),
    media_bytes_max: 30_000_000,
    mention: true,
    hint: "The conversation is on Feishu.",
    setup: &[
        "create an app at open.feishu.cn with a bot, and set FEISHU_APP_ID and FEISHU_APP_SECRET",
        "set FEISHU_VERIFICATION_TOKEN, and FEISHU_ENCRYPT_KEY where events are sealed",
        "let events go to the public address of the listener (port 8765, /feishu/webhook): im.message.receive_v1 and card.action.trigger",
        "put open ids (ou_…) of this app into FEISHU_ALLOWED_USERS",
    ],
    tested_with: "a double built from the published event and card schema, with the vendor's own vectors",
    direct: true,
    target: |text| TargetId::usual(text).filter(|id| id.chat.starts_with("oc_")),
    canonical: |id| {
        let id = id.trim();
        id.starts_with("ou_").then(|| id.to_owned())
    },
    open,
    ..PlatformDef::USUAL
};

const CALL: Duration = Duration::from_secs(20);
const FILE_BYTES_MAX: u64 = 100_000_000;

struct Feishu {
    account: String,
    secret: Secret,
    proof: Proof,
    net: Api,
    base: String,
    at: ListenAt,
    tokens: Tokens,
    /// Our own identity, for mentions.
    me: String,
    opening: Arc<petasos_net::Net>,
}

/// How the server proves itself.
struct Proof {
    token: Secret,
    key: Option<Secret>,
}

fn open(opening: &Opening<'_>) -> Opened {
    let word = |name: &str| text_of(opening.settings, &format!("FEISHU_{name}"));
    let (Some(account), Some(secret)) = (word("APP_ID"), word("APP_SECRET")) else {
        return Ok(Vec::new());
    };
    let token = word("VERIFICATION_TOKEN")
        .ok_or("FEISHU_VERIFICATION_TOKEN is missing: anybody could write as anybody")?;
    let proof = Proof { token: Secret::new(token), key: word("ENCRYPT_KEY").map(Secret::new) };
    let at = ListenAt::of(opening, "FEISHU_WEBHOOK", (8765, "/feishu/webhook"))?;
    let usual = match word("DOMAIN").as_deref() {
        None | Some("feishu") => "https://open.feishu.cn".to_owned(),
        Some("lark") => "https://open.larksuite.com".to_owned(),
        Some(other) => other.to_owned(),
    };
    let base = opening.settings.text("platforms.feishu.base_url").map_or(usual, str::to_owned);
    let base = format!("{base}/open-apis");
    let net = Api::new(opening.net, &base, None, "feishu")?;
    let me = word("BOT_OPEN_ID").unwrap_or_default();
    let secret = Secret::new(secret);
    let opening = Arc::clone(opening.net);
    let tokens = Tokens::default();
    Ok(vec![Arc::new(Feishu { account, secret, proof, net, base, at, tokens, me, opening })])
}

impl Proof {
    /// The event of a call, once it is proved whose it is.
    fn event(&self, hit: &Hit) -> Option<Value> {
        let body = hit.json()?;
        let event = match (&self.key, body.get("encrypt").and_then(Value::as_str)) {
            (Some(key), Some(sealed)) => {
                let signed = hit.header("x-lark-signature");
                // The very first call is sealed and not signed.
                let parts =
                    [hit.header("x-lark-request-timestamp"), hit.header("x-lark-request-nonce")];
                let plain = unsealed(key.expose(), sealed)?;
                let event: Value = serde_json::from_slice(&plain).ok()?;
                let first = event.get("type").and_then(Value::as_str) == Some("url_verification");
                if !first && !same(signed, &signature(key.expose(), parts, &hit.body)) {
                    return None;
                }
                event
            }
            // Where a key is set nothing comes without a seal.
            (Some(_), None) | (None, Some(_)) => return None,
            (None, None) => body,
        };
        let token = event.pointer("/header/token").or_else(|| event.get("token"));
        let token = token.and_then(Value::as_str).unwrap_or_default();
        same(token, self.token.expose()).then_some(event)
    }
}

/// What is signed: the time, a word used once, the key and the whole body.
fn signature(key: &str, [time, nonce]: [&str; 2], body: &[u8]) -> String {
    hex(&sha256(&[time.as_bytes(), nonce.as_bytes(), key.as_bytes(), body].concat()))
}

/// What is sealed with the digest of a key; its first bytes begin the chain.
fn unsealed(key: &str, sealed: &str) -> Option<Vec<u8>> {
    let bytes = unbased(sealed)?;
    let (iv, sealed) = bytes.split_at_checked(16)?;
    opened(&sha256(key.as_bytes()), iv.try_into().ok()?, sealed, 16)
}

impl Feishu {
    async fn heard(&self, link: &Link, hit: Hit) -> Said {
        let Some(event) = self.proof.event(&hit) else { return Said::unsigned() };
        if event.get("type").and_then(Value::as_str) == Some("url_verification") {
            return Said::json(&json!({ "challenge": event.get("challenge") }));
        }
        let kind = event.pointer("/header/event_type").and_then(Value::as_str);
        let arrival = match kind {
            Some("im.message.receive_v1") => self.arrival(link, &event).await,
            Some("card.action.trigger") => pressed(&event),
            _ => None,
        };
        let Some(arrival) = arrival else { return Said::json(&json!({})) };
        match link.take(arrival).await {
            Ok(()) => Said::json(&json!({})),
            Err(_) => Said::again(),
        }
    }

    /// A message in everybody's words.
    async fn arrival(&self, link: &Link, event: &Value) -> Option<Arrival> {
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (chat, id) = (text("/event/message/chat_id"), text("/event/message/message_id"));
        let from = text("/event/sender/sender_id/open_id");
        let direct = text("/event/message/chat_type") == "p2p";
        let content: Value = serde_json::from_str(text("/event/message/content")).ok()?;
        let word = |key: &str| content.get(key).and_then(Value::as_str).unwrap_or_default();
        let mentions = event.pointer("/event/message/mentions").and_then(Value::as_array);
        let mentions = mentions.cloned().unwrap_or_default();
        let mut said = word("text").to_owned();
        let mut named = false;
        for mention in &mentions {
            let part =
                |path: &str| mention.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let ours = !self.me.is_empty() && part("/id/open_id") == self.me;
            named |= ours;
            let name = if ours { String::new() } else { format!("@{}", part("/name")) };
            said = said.replace(part("/key"), &name);
        }
        let mut arrival = Arrival {
            sent_ms: text("/event/message/create_time").parse().unwrap_or(0),
            message: id.to_owned(),
            chat_kind: if direct { ChatKind::Dm } else { ChatKind::Group },
            thread: Some(text("/event/message/thread_id"))
                .filter(|it| !it.is_empty())
                .map(str::to_owned),
            sender: Sender {
                id: Some(from.to_owned()),
                bot: text("/event/sender/sender_type") == "app",
                ..Sender::default()
            },
            addressed: direct || named,
            ..Arrival::text(chat, from, text("/header/event_id"), said.trim())
        };
        let file = match text("/event/message/message_type") {
            "text" => None,
            "post" => {
                arrival.text = words_of(&content);
                None
            }
            "image" => Some(("image", word("image_key"), "image/jpeg", "image.jpg")),
            "audio" => Some(("file", word("file_key"), "audio/ogg", "audio.ogg")),
            "file" | "media" => {
                let name = word("file_name");
                Some(("file", word("file_key"), crate::media::mime_of(name), name))
            }
            _ => return None,
        };
        if let Some((kind, key, mime, name)) = file {
            let fetched =
                link.fetch(&mut arrival, self.file(link, [id, key, kind], (mime, name))).await;
            arrival.media.extend(fetched);
        }
        Some(arrival)
    }

    async fn token(&self) -> Result<String, SendError> {
        let fetch = async {
            let body = json!({ "app_id": self.account, "app_secret": self.secret.expose() });
            let path = "auth/v3/tenant_access_token/internal";
            let answer = self.net.call(Method::POST, path, Some(&body), CALL).await;
            let body = answer.map_err(|error| send_error(&error))?.body;
            Fetched::of(&body, "tenant_access_token", "expire").ok_or_else(|| {
                let said = body.get("msg").and_then(Value::as_str).unwrap_or("no description");
                SendError::Auth(said.to_owned())
            })
        };
        self.tokens.get(fetch).await
    }

    /// The interface with the token that holds now.
    async fn api(&self) -> Result<Api, SendError> {
        let key = Some((Secret::new(self.token().await?), Scheme::Bearer));
        Api::new(&self.opening, &self.base, key, "feishu").map_err(SendError::Transient)
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> Result<Value, SendError> {
        let answer = self.api().await?.call(method, path, Some(body), CALL).await;
        self.good(&answer.map_err(|error| send_error(&error))?)
    }

    fn good(&self, answer: &ApiAnswer) -> Result<Value, SendError> {
        let code = answer.body.get("code").and_then(Value::as_i64);
        let said = answer.body.get("msg").and_then(Value::as_str).unwrap_or("no description");
        match code {
            Some(0) => Ok(answer.body.get("data").cloned().unwrap_or_default()),
            Some(99_991_663 | 99_991_661 | 99_991_668) => {
                self.tokens.forget();
                Err(SendError::Transient(said.to_owned()))
            }
            Some(99_991_400 | 230_020 | 11_232 | 11_233) => {
                let after = answer.retry_after.unwrap_or(Duration::from_secs(1));
                Err(SendError::RateLimited { after })
            }
            Some(230_001 | 230_099) => Err(SendError::BadFormat(said.to_owned())),
            Some(230_025) => Err(SendError::TooLong(said.to_owned())),
            Some(230_011 | 230_110) => Err(SendError::NoThread(said.to_owned())),
            Some(230_002 | 230_006 | 230_013 | 230_018) => {
                Err(SendError::Unreachable(said.to_owned()))
            }
            _ => Err(of_status(answer, said)),
        }
    }

    async fn file(
        &self,
        link: &Link,
        [message, key, kind]: [&str; 3],
        (mime, name): (&str, &str),
    ) -> Result<MediaFile, String> {
        let path =
            format!("im/v1/messages/{}/resources/{}?type={kind}", segment(message), segment(key));
        let api = self.api().await.map_err(|error| error.to_string())?;
        let request = api.request(Method::GET, &path).map_err(|error| error.to_string())?;
        let to = link.media_path(mime)?;
        api.download(request, &to, link.file_bytes_max(FILE_BYTES_MAX)).await?;
        Ok(MediaFile {
            path: to.display().to_string(),
            mime: mime.to_owned(),
            name: name.to_owned(),
        })
    }

    async fn upload(&self, file: &MediaFile) -> Result<(&'static str, Value), SendError> {
        let bytes = crate::media::read(file)?;
        let image = file.mime.starts_with("image/");
        let (path, fields, field): (_, Vec<(&str, &str)>, _) = if image {
            ("im/v1/images", vec![("image_type", "message")], "image")
        } else {
            ("im/v1/files", vec![("file_type", "stream"), ("file_name", &file.name)], "file")
        };
        let (kind, form) = multipart(&fields, (field, &file.name, &file.mime, &bytes));
        let api = self.api().await?;
        let request = api.request(Method::POST, path);
        let request = request.and_then(|it| it.header("content-type", &kind));
        let request = request.map_err(|error| send_error(&error))?.body(form);
        let answer = api.answer(request, Duration::from_mins(1)).await;
        let data = self.good(&answer.map_err(|error| send_error(&error))?)?;
        Ok(if image {
            ("image", json!({ "image_key": data.get("image_key") }))
        } else {
            ("file", json!({ "file_key": data.get("file_key") }))
        })
    }
}

/// The words of a rich message.
fn words_of(post: &Value) -> String {
    let lines = post.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let line = |line: &Value| {
        let parts = line.as_array().cloned().unwrap_or_default();
        let text = |part: &Value| part.get("text").and_then(Value::as_str).map(str::to_owned);
        parts.iter().filter_map(text).collect::<String>()
    };
    let title = post.get("title").and_then(Value::as_str).unwrap_or_default().to_owned();
    let lines = std::iter::once(title).chain(lines.iter().map(line));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// A pressed button of a card.
fn pressed(event: &Value) -> Option<Arrival> {
    let text = |path: &str| event.pointer(path).and_then(Value::as_str);
    let from = text("/event/operator/open_id")?;
    let data = text("/event/action/value/petasos")?;
    Some(Arrival {
        kind: ArrivalKind::Button(data.to_owned()),
        message: text("/event/context/open_message_id").unwrap_or_default().to_owned(),
        addressed: true,
        ..Arrival::text(text("/event/context/open_chat_id")?, from, text("/header/event_id")?, "")
    })
}

/// A card with Markdown and buttons.
fn card(text: &str, buttons: &[CardButton]) -> String {
    let mut elements = vec![json!({ "tag": "markdown", "content": text })];
    if !buttons.is_empty() {
        let button = |it: &CardButton| {
            json!({
                "tag": "button", "text": { "tag": "plain_text", "content": it.label },
                "value": { "petasos": it.data },
            })
        };
        let actions: Vec<Value> = buttons.iter().map(button).collect();
        elements.push(json!({ "tag": "action", "actions": actions }));
    }
    json!({ "config": { "wide_screen_mode": true, "update_multi": true }, "elements": elements })
        .to_string()
}

impl Platform for Feishu {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            self.probe().await?;
            listen(&self.at, link, |hit| self.heard(link, hit)).await
        })
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let (kind, content) = match message.media {
                Some(file) => {
                    let (kind, content) = self.upload(file).await?;
                    (kind, content.to_string())
                }
                None if message.unmarked => ("text", json!({ "text": message.text }).to_string()),
                None => ("interactive", card(message.text, message.buttons)),
            };
            // At most fifty characters tell it from others.
            let uuid = hex(&sha256(message.token.as_bytes()));
            let uuid: String = uuid.chars().take(40).collect();
            let mut body = json!({ "msg_type": kind, "content": content, "uuid": uuid });
            let threaded = message.reply_to.filter(|_| message.lane.thread.is_some());
            let path = if let Some(to) = threaded {
                body["reply_in_thread"] = json!(true);
                format!("im/v1/messages/{}/reply", segment(to))
            } else {
                body["receive_id"] = json!(message.lane.chat);
                "im/v1/messages?receive_id_type=chat_id".to_owned()
            };
            let data = self.call(Method::POST, &path, &body).await?;
            Ok(data.get("message_id").and_then(Value::as_str).unwrap_or_default().to_owned())
        })
    }

    fn edit<'a>(
        &'a self,
        _: &'a Lane,
        message: &'a str,
        text: &'a str,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let path = format!("im/v1/messages/{}", segment(message));
            let body = json!({ "content": card(text, &[]) });
            self.call(Method::PATCH, &path, &body).await.map(drop)
        })
    }

    fn react<'a>(
        &'a self,
        _: &'a Lane,
        message: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            // The server knows marks by names of its own.
            let name = match mark {
                Mark::Put("👀") => "EYES",
                Mark::Put("✅") => "DONE",
                Mark::Put("❌") => "CrossMark",
                _ => return Ok(()),
            };
            let path = format!("im/v1/messages/{}/reactions", segment(message));
            let body = json!({ "reaction_type": { "emoji_type": name } });
            self.call(Method::POST, &path, &body).await.map(drop)
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async move {
            match self.token().await {
                Ok(_) => Ok(self.account.clone()),
                Err(SendError::Auth(why)) => {
                    Err(LinkError::Fatal(format!("Feishu refuses the secret: {why}")))
                }
                Err(error) => Err(LinkError::Lost(error.to_string())),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s96_the_vendors_own_seal_and_signature() {
        let plain = unsealed("test key", "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=");
        assert_eq!(plain.as_deref(), Some(&b"hello world"[..]));
        assert_eq!(unsealed("other key", "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk="), None);
        let signed = signature("kudryavka", ["1609073151", "nonce1"], br#"{"a":1}"#);
        assert_eq!(signed, "3cf7a0d14ba7e170eca0efb836ff7252d41397a20afdfaa9bb84c64e5ac9cd55");
    }
}
