//! `whatsapp_cloud`: WhatsApp's Cloud API. Meta calls a listener of ours and signs what it says; what
//! goes out is the Graph API.
//!
//! Free text is taken for a day after somebody wrote, and not a minute longer. Nothing is answered
//! before it is stored, because Meta delivers again what was not acknowledged.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::delivery::Mark;
use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Scheme};
use petasos_store::{Lane, MediaFile};
use serde_json::{Value, json};

use crate::api::{Api, ApiAnswer, link_error, multipart, of_status, segment, send_error};
use crate::crypt::{hmac_sha256, same};
use crate::inbound::{Hit, ListenAt, Said, listen};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, ArrivalKind, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates,
    Repeats, SendError, Sender, TargetId,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "whatsapp_cloud",
    about: "WhatsApp by Meta's Cloud API",
    toolset: "hermes-whatsapp",
    variables: &[
        "WHATSAPP_CLOUD_ACCESS_TOKEN",
        "WHATSAPP_CLOUD_PHONE_NUMBER_ID",
        "WHATSAPP_CLOUD_APP_SECRET",
        "WHATSAPP_CLOUD_VERIFY_TOKEN",
    ],
    form: Form { dialect: Dialect::WhatsApp, limit: 4096, unit: Unit::Chars },
    // One message in six seconds to one person, in bursts.
    rates: Rates { account: Duration::from_millis(13), chat: Duration::from_secs(6), burst: 45 },
    repeats: Repeats::Seen,
    buttons: true,
    media_bytes_max: 100_000_000,
    typing: Some(Duration::from_secs(20)),
    window: |_| Some(Duration::from_hours(24)),
    hint: "The conversation is on WhatsApp: keep answers short; files are sent with MEDIA:/path on a line of its own.",
    setup: &[
        "create an app with WhatsApp at developers.facebook.com, and set WHATSAPP_CLOUD_ACCESS_TOKEN and WHATSAPP_CLOUD_PHONE_NUMBER_ID",
        "set WHATSAPP_CLOUD_APP_SECRET (App settings, Basic): nothing unsigned is read",
        "choose WHATSAPP_CLOUD_VERIFY_TOKEN and give it to Meta with the public address of the listener (port 8090, /whatsapp/webhook)",
        "put numbers into WHATSAPP_CLOUD_ALLOWED_USERS, as in 4912345678",
    ],
    tested_with: "a double built from the published reference",
    direct: true,
    target: |text| canonical(text).map(|number| TargetId::chat(&number)),
    canonical,
    open,
    ..PlatformDef::USUAL
};

/// Digits without the plus sign, as Meta writes numbers.
fn canonical(id: &str) -> Option<String> {
    let digits: String = id.trim().chars().filter(|c| !"+ -()".contains(*c)).collect();
    let fits = (7..=15).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_digit());
    fits.then_some(digits)
}

const CALL: Duration = Duration::from_secs(20);
const FILE_BYTES_MAX: u64 = 100_000_000;
/// So many buttons, and so many characters on one.
const BUTTONS_MAX: usize = 3;
const LABEL_CHARS_MAX: usize = 20;

struct Cloud {
    /// The identity of the number.
    account: String,
    api: Api,
    secret: Secret,
    verify: Secret,
    at: ListenAt,
}

fn open(opening: &Opening<'_>) -> Opened {
    let word = |name: &str| text_of(opening.settings, &format!("WHATSAPP_CLOUD_{name}"));
    let (Some(token), Some(account)) = (word("ACCESS_TOKEN"), word("PHONE_NUMBER_ID")) else {
        return Ok(Vec::new());
    };
    let secret = word("APP_SECRET")
        .ok_or("WHATSAPP_CLOUD_APP_SECRET is missing: nothing unsigned is read")?;
    let verify = word("VERIFY_TOKEN")
        .ok_or("WHATSAPP_CLOUD_VERIFY_TOKEN is missing: Meta's first call proves itself with it")?;
    let at = ListenAt::of(opening, "WHATSAPP_CLOUD_WEBHOOK", (8090, "/whatsapp/webhook"))?;
    let version = word("API_VERSION").unwrap_or_else(|| "v20.0".to_owned());
    let base = opening.settings.text("platforms.whatsapp_cloud.base_url");
    let base = format!("{}/{version}", base.unwrap_or("https://graph.facebook.com"));
    let api = Api::new(opening.net, &base, Some((Secret::new(token), Scheme::Bearer)), "whatsapp")?;
    let (secret, verify) = (Secret::new(secret), Secret::new(verify));
    Ok(vec![Arc::new(Cloud { account, api, secret, verify, at })])
}

impl Cloud {
    async fn heard(&self, link: &Link, hit: Hit) -> Said {
        if hit.method == Method::GET {
            let proved = hit.query("hub.mode").as_deref() == Some("subscribe")
                && same(&hit.query("hub.verify_token").unwrap_or_default(), self.verify.expose());
            let challenge = hit.query("hub.challenge").unwrap_or_default();
            return if proved { Said::text(200, challenge) } else { Said::text(403, "") };
        }
        let signed = hit.header("x-hub-signature-256").strip_prefix("sha256=").unwrap_or_default();
        if !same(signed, &hmac_sha256(self.secret.expose().as_bytes(), &hit.body)) {
            return Said::unsigned();
        }
        let Some(body) = hit.json() else { return Said::taken() };
        for (value, message) in messages_of(&body, &self.account) {
            let Some(arrival) = self.arrival(link, &value, &message).await else { continue };
            if link.take(arrival).await.is_err() {
                return Said::again();
            }
        }
        Said::taken()
    }

    /// A message in everybody's words; nothing when it is none.
    async fn arrival(&self, link: &Link, value: &Value, message: &Value) -> Option<Arrival> {
        let text = |path: &str| message.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (from, id) = (text("/from"), text("/id"));
        let name = value.pointer("/contacts/0/profile/name").and_then(Value::as_str);
        let mut arrival = Arrival {
            sent_ms: text("/timestamp").parse::<i64>().ok()? * 1000,
            sender: Sender {
                id: Some(from.to_owned()),
                name: name.unwrap_or_default().to_owned(),
                ..Sender::default()
            },
            addressed: true,
            ..Arrival::text(from, from, id, text("/text/body"))
        };
        match text("/type") {
            "text" => {}
            "interactive" => {
                let chosen =
                    [text("/interactive/button_reply/id"), text("/interactive/list_reply/id")];
                let chosen = chosen.into_iter().find(|it| !it.is_empty())?;
                arrival.kind = ArrivalKind::Button(chosen.to_owned());
            }
            "reaction" => {
                text("/reaction/message_id").clone_into(&mut arrival.message);
                arrival.kind = ArrivalKind::Reaction(text("/reaction/emoji").to_owned());
            }
            "location" => {
                let at = |key: &str| message.pointer(&format!("/location/{key}"))?.as_f64();
                arrival.text = format!("[location {}, {}]", at("latitude")?, at("longitude")?);
            }
            kind @ ("image" | "document" | "audio" | "video" | "sticker" | "voice") => {
                text(&format!("/{kind}/caption")).clone_into(&mut arrival.text);
                let mime = text(&format!("/{kind}/mime_type"));
                let named = text(&format!("/{kind}/filename"));
                let fetched = link
                    .fetch(
                        &mut arrival,
                        self.file(link, text(&format!("/{kind}/id")), (mime, named)),
                    )
                    .await;
                arrival.media.extend(fetched);
            }
            _ => return None,
        }
        Some(arrival)
    }

    /// A file of theirs: its address is asked for first, and leads to Meta's own host alone.
    async fn file(
        &self,
        link: &Link,
        id: &str,
        (mime, name): (&str, &str),
    ) -> Result<MediaFile, String> {
        let about = self.api.call(Method::GET, &segment(id), None, CALL).await;
        let about = about.map_err(|error| error.to_string())?;
        let url = about.body.get("url").and_then(Value::as_str).ok_or_else(|| said(&about))?;
        let request = self.api.keyed(Method::GET, url, &["lookaside.fbsbx.com"])?;
        let mime = mime.split(';').next().unwrap_or_default().trim().to_owned();
        let to = link.media_path(&mime)?;
        self.api.download(request, &to, link.file_bytes_max(FILE_BYTES_MAX)).await?;
        let name = if name.is_empty() { "file" } else { name }.to_owned();
        Ok(MediaFile { path: to.display().to_string(), mime, name })
    }

    async fn post(&self, body: &Value) -> Result<String, SendError> {
        let path = format!("{}/messages", self.account);
        let answer = self.api.call(Method::POST, &path, Some(body), CALL).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        let id = answer.body.pointer("/messages/0/id").and_then(Value::as_str);
        id.filter(|_| answer.is_ok()).map(str::to_owned).ok_or_else(|| refused(&answer))
    }

    async fn upload(&self, file: &MediaFile) -> Result<String, SendError> {
        let bytes = crate::media::read(file)?;
        let fields = [("messaging_product", "whatsapp"), ("type", file.mime.as_str())];
        let (kind, form) = multipart(&fields, ("file", &file.name, &file.mime, &bytes));
        let request = self.api.request(Method::POST, &format!("{}/media", self.account));
        let request = request.and_then(|it| it.header("content-type", &kind));
        let request = request.map_err(|error| send_error(&error))?.body(form);
        let answer = self.api.answer(request, Duration::from_mins(1)).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        let id = answer.body.get("id").and_then(Value::as_str);
        id.filter(|_| answer.is_ok()).map(str::to_owned).ok_or_else(|| refused(&answer))
    }

    async fn body_of(&self, message: &Outgoing<'_>) -> Result<Value, SendError> {
        let mut body = json!({
            "messaging_product": "whatsapp", "recipient_type": "individual", "to": message.lane.chat,
        });
        if let Some(to) = message.reply_to {
            body["context"] = json!({ "message_id": to });
        }
        if let Some(file) = message.media {
            let id = self.upload(file).await?;
            let kind = match file.mime.split('/').next() {
                Some("image") if file.mime != "image/gif" => "image",
                Some("audio") => "audio",
                Some("video") => "video",
                _ => "document",
            };
            body["type"] = json!(kind);
            body[kind] = json!({ "id": id });
            if kind == "document" {
                body[kind]["filename"] = json!(file.name);
            }
            return Ok(body);
        }
        // The text above buttons is shorter; what does not fit is asked for in words.
        if message.buttons.is_empty() || message.text.chars().count() > 1024 {
            body["type"] = json!("text");
            body["text"] = json!({ "body": message.text, "preview_url": false });
            return Ok(body);
        }
        let button = |it: &petasos_store::CardButton| {
            let label: String = it.label.chars().take(LABEL_CHARS_MAX).collect();
            json!({ "type": "reply", "reply": { "id": it.data, "title": label } })
        };
        body["type"] = json!("interactive");
        body["interactive"] = json!({
            "type": "button",
            "body": { "text": message.text },
            "action": { "buttons": shown(message.buttons).map(button).collect::<Vec<_>>() },
        });
        Ok(body)
    }
}

/// The first choices and the last: to say no must always be possible.
fn shown(
    buttons: &[petasos_store::CardButton],
) -> impl Iterator<Item = &petasos_store::CardButton> {
    let first = buttons.len().min(BUTTONS_MAX - 1);
    buttons.iter().take(first).chain(buttons.iter().skip(first).last())
}

/// The messages to our number, each with what surrounds it.
fn messages_of(body: &Value, account: &str) -> Vec<(Value, Value)> {
    let list = |value: &Value, key: &str| -> Vec<Value> {
        value.get(key).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut found = Vec::new();
    for entry in list(body, "entry") {
        for change in list(&entry, "changes") {
            let value = change.get("value").cloned().unwrap_or_default();
            let own = value.pointer("/metadata/phone_number_id").and_then(Value::as_str);
            if own == Some(account) {
                let messages = list(&value, "messages");
                found.extend(messages.into_iter().map(|message| (value.clone(), message)));
            }
        }
    }
    found
}

fn said(answer: &ApiAnswer) -> String {
    let said = answer.body.pointer("/error/message").and_then(Value::as_str);
    said.unwrap_or("no description").to_owned()
}

fn refused(answer: &ApiAnswer) -> SendError {
    let said = said(answer);
    match answer.body.pointer("/error/code").and_then(Value::as_i64) {
        Some(190 | 0) => SendError::Auth(said),
        Some(131_047 | 470) => SendError::Closed(said),
        Some(4 | 80_007 | 130_429 | 131_048 | 131_056) => {
            SendError::RateLimited { after: answer.retry_after.unwrap_or(Duration::from_secs(6)) }
        }
        Some(131_026 | 131_030) => SendError::Unreachable(said),
        Some(131_000 | 131_016) => SendError::Ambiguous(said),
        _ => of_status(answer, &said),
    }
}

impl Platform for Cloud {
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
            let body = self.body_of(&message).await?;
            self.post(&body).await
        })
    }

    fn react<'a>(
        &'a self,
        lane: &'a Lane,
        message: &'a str,
        mark: Mark<'a>,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let emoji = match mark {
                Mark::Put(emoji) => emoji,
                Mark::Take(_) => "",
            };
            let body = json!({
                "messaging_product": "whatsapp", "recipient_type": "individual", "to": lane.chat,
                "type": "reaction", "reaction": { "message_id": message, "emoji": emoji },
            });
            self.post(&body).await.map(drop)
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async move {
            let path = format!("{}?fields=display_phone_number", self.account);
            let answer = self.api.call(Method::GET, &path, None, CALL).await;
            let answer = answer.map_err(|error| link_error(&error))?;
            let number = answer.body.get("display_phone_number").and_then(Value::as_str);
            match (answer.status, number) {
                (200, number) => Ok(number.unwrap_or(&self.account).to_owned()),
                (401 | 403, _) => {
                    Err(LinkError::Fatal(format!("Meta refuses the token: {}", said(&answer))))
                }
                (status, _)
                    if answer.body.pointer("/error/code").and_then(Value::as_i64) == Some(190) =>
                {
                    Err(LinkError::Fatal(format!(
                        "Meta refuses the token ({status}): {}",
                        said(&answer)
                    )))
                }
                (status, _) => Err(LinkError::Lost(format!("{status} {}", said(&answer)))),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_say_no_is_always_among_three_buttons() {
        let button = |label: &str| petasos_store::CardButton {
            label: label.to_owned(),
            data: String::new(),
        };
        let labels = |buttons: &[&str]| -> Vec<String> {
            let buttons: Vec<_> = buttons.iter().map(|it| button(it)).collect();
            shown(&buttons).map(|it| it.label.clone()).collect()
        };
        assert_eq!(labels(&["Once", "Session", "Always", "Deny"]), ["Once", "Session", "Deny"]);
        assert_eq!(labels(&["Once", "Deny"]), ["Once", "Deny"]);
    }
}
