//! `weixin`: a personal WeChat bot by iLink: long polling with a token from a QR login.
//!
//! No reference of the vendor is public; the calls are those that other programs were seen to make.
//! An answer carries a token of the last message, and is taken for less than a day.

mod files;

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, NetError, Scheme};
use serde_json::{Value, json};

use crate::api::{Api, ApiAnswer, link_error, of_status, send_error};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, Sender, TargetId, now_ms,
};
use crate::render::{Dialect, Form, Unit};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "weixin",
    about: "WeChat: a personal bot by iLink",
    toolset: "hermes-weixin",
    variables: &["WEIXIN_ACCOUNT_ID", "WEIXIN_TOKEN"],
    form: Form { dialect: Dialect::Plain, limit: 2000, unit: Unit::Chars },
    rates: Rates { account: Duration::from_millis(200), chat: Duration::from_secs(1), burst: 3 },
    repeats: Repeats::Seen,
    media_bytes_max: 20_000_000,
    context: true,
    window: |_| Some(Duration::from_hours(21)),
    hint: "The conversation is on WeChat: plain text, short answers.",
    setup: &[
        "log in by QR code with a program that gives iLink tokens, and set WEIXIN_ACCOUNT_ID and WEIXIN_TOKEN",
        "put user ids into WEIXIN_ALLOWED_USERS",
    ],
    tested_with: "a double of the observed protocol; no reference is public",
    direct: true,
    target: |text| Some(TargetId::chat(text.trim())).filter(|id| !id.chat.is_empty()),
    canonical: |id| Some(id.trim().to_owned()).filter(|id| !id.is_empty()),
    open,
    ..PlatformDef::USUAL
};

const CALL: Duration = Duration::from_secs(20);
/// The server holds an empty poll for so long.
const POLL: Duration = Duration::from_secs(35);
/// The login is over, and only a person can begin another.
const LOGGED_OUT: i64 = -14;
/// Too fast.
const SLOWER: i64 = -2;

struct Weixin {
    account: String,
    api: Api,
    /// Where sealed files lie.
    store: Api,
}

fn open(opening: &Opening<'_>) -> Opened {
    let word = |name: &str| text_of(opening.settings, &format!("WEIXIN_{name}"));
    let (Some(account), Some(token)) = (word("ACCOUNT_ID"), word("TOKEN")) else {
        return Ok(Vec::new());
    };
    let base = word("BASE_URL").unwrap_or_else(|| "https://ilinkai.weixin.qq.com".to_owned());
    let base = format!("{}/ilink/bot", base.trim_end_matches('/'));
    let key = Some((Secret::new(token), Scheme::Bearer));
    let api = Api::new(opening.net, &base, key, "weixin")?;
    let store = word("CDN_BASE_URL");
    let store = store.unwrap_or_else(|| "https://novac2c.cdn.weixin.qq.com/c2c".to_owned());
    let store = Api::new(opening.net, &store, None, "weixin")?;
    Ok(vec![Arc::new(Weixin { account, api, store })])
}

fn code_of(answer: &ApiAnswer) -> i64 {
    let code = |key: &str| answer.body.get(key).and_then(Value::as_i64).unwrap_or(0);
    match code("errcode") {
        0 => code("ret"),
        code => code,
    }
}

/// What an answer means for what was sent.
fn settled(answer: &ApiAnswer) -> Result<(), SendError> {
    let said = answer.body.get("errmsg").and_then(Value::as_str).unwrap_or("no description");
    match code_of(answer) {
        0 if answer.is_ok() => Ok(()),
        SLOWER => Err(SendError::RateLimited { after: Duration::from_secs(5) }),
        LOGGED_OUT => Err(SendError::Auth(said.to_owned())),
        0 => Err(of_status(answer, said)),
        _ => Err(SendError::Unreachable(said.to_owned())),
    }
}

impl Weixin {
    async fn call(
        &self,
        path: &str,
        body: &Value,
        within: Duration,
    ) -> Result<ApiAnswer, NetError> {
        let request = self.api.request(Method::POST, path)?.first_byte(within);
        let request = request.header("content-type", "application/json")?;
        let request = request.header("authorizationtype", "ilink_bot_token")?;
        self.api.answer(request.body(body.to_string()), within).await
    }

    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let mut buffer = link.cursor("buffer").await?.unwrap_or_default();
        loop {
            link.room().await;
            let body =
                json!({ "get_updates_buf": buffer, "base_info": { "channel_version": "1.0.0" } });
            let answer = self.call("getupdates", &body, POLL + CALL).await;
            let answer = answer.map_err(|error| link_error(&error))?;
            match (answer.status, code_of(&answer)) {
                (200, 0) => {}
                (_, LOGGED_OUT) | (401 | 403, _) => {
                    let why = "WeChat has ended the login: log in again by QR code";
                    return Err(LinkError::Fatal(why.to_owned()));
                }
                (status, code) => {
                    return Err(LinkError::Lost(format!("getupdates: {status} {code}")));
                }
            }
            link.progress();
            let messages = answer.body.get("msgs").and_then(Value::as_array).cloned();
            for message in messages.unwrap_or_default() {
                if let Some(mut arrival) = arrival(&message) {
                    self.with_files(link, &message, &mut arrival).await;
                    link.take(arrival).await?;
                }
            }
            if let Some(next) = answer.body.get("get_updates_buf").and_then(Value::as_str)
                && next != buffer
            {
                next.clone_into(&mut buffer);
                link.set_cursor("buffer", next).await?;
            }
        }
    }
}

/// A message in everybody's words, without its files; nothing when it is a bot's.
fn arrival(message: &Value) -> Option<Arrival> {
    let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
    if message.get("message_type").and_then(Value::as_i64) != Some(1) {
        return None;
    }
    let items = message.get("item_list").and_then(Value::as_array)?;
    let words = |item: &Value| {
        let said = item.pointer("/text_item/text").or_else(|| item.pointer("/voice_item/text"));
        said.and_then(Value::as_str).map(str::to_owned)
    };
    let said: Vec<String> = items.iter().filter_map(words).collect();
    let (from, id) = (text("from_user_id"), message.get("message_id")?);
    let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
    Some(Arrival {
        sent_ms: message.get("create_time_ms").and_then(Value::as_i64).unwrap_or_else(now_ms),
        sender: Sender { id: Some(from.to_owned()), ..Sender::default() },
        addressed: true,
        context: Some(text("context_token").to_owned()),
        ..Arrival::text(from, from, &id, &said.join("\n"))
    })
}

impl Platform for Weixin {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let item = match message.media {
                Some(file) => self.uploaded(file, &message.lane.chat).await?,
                None => json!({ "type": 1, "text_item": { "text": message.text } }),
            };
            let body = json!({ "msg": {
                "from_user_id": "", "to_user_id": message.lane.chat, "client_id": message.token,
                "message_type": 2, "message_state": 2, "context_token": message.context.unwrap_or_default(),
                "item_list": [item],
            } });
            let answer = self.call("sendmessage", &body, CALL).await;
            let answer = answer.map_err(|error| send_error(&error))?;
            settled(&answer).map(|()| message.token.to_owned())
        })
    }
}
