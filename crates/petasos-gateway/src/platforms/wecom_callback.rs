//! `wecom_callback`: an application of WeCom. The server calls a listener of ours with sealed XML; what
//! goes out is its REST interface.
//!
//! Every call is signed and sealed with keys that only the two sides know. It is answered empty
//! after it is stored; the real answer follows by a call of ours, with a check against repeats.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::{BoxFuture, Secret};
use petasos_net::Method;
use petasos_store::MediaFile;
use quick_xml::events::Event;
use serde_json::{Value, json};

use crate::api::{Api, multipart, segment, send_error};
use crate::crypt::{lenient, opened, same, sha1, unbased};
use crate::inbound::{Hit, ListenAt, Said, listen};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, Sender, TargetId,
};
use crate::render::{Dialect, Form, Unit};
use crate::token::{Fetched, Tokens};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "wecom_callback",
    about: "WeCom: an application that is called back",
    toolset: "hermes-wecom-callback",
    variables: &[
        "WECOM_CALLBACK_CORP_ID",
        "WECOM_CALLBACK_CORP_SECRET",
        "WECOM_CALLBACK_AGENT_ID",
        "WECOM_CALLBACK_TOKEN",
        "WECOM_CALLBACK_ENCODING_AES_KEY",
    ],
    form: Form { dialect: Dialect::Plain, limit: 2048, unit: Unit::Bytes },
    rates: Rates { account: Duration::from_millis(50), chat: Duration::from_secs(2), burst: 10 },
    repeats: Repeats::Dropped,
    media_bytes_max: 20_000_000,
    hint: "The conversation is on WeCom: plain text, short answers.",
    setup: &[
        "create an application in the admin console, and set WECOM_CALLBACK_CORP_ID, _CORP_SECRET and _AGENT_ID",
        "under \"receive messages\" set the public address of the listener (port 8645, /wecom/callback), WECOM_CALLBACK_TOKEN and WECOM_CALLBACK_ENCODING_AES_KEY",
        "put user ids into WECOM_CALLBACK_ALLOWED_USERS",
    ],
    tested_with: "a double built from the published callback protocol, with the vendor's own vectors",
    direct: true,
    target: |text| named(text).map(|user| TargetId::chat(&user)),
    canonical: named,
    open,
    ..PlatformDef::USUAL
};

fn named(id: &str) -> Option<String> {
    let id = id.trim();
    (!id.is_empty() && !id.contains(char::is_whitespace)).then(|| id.to_owned())
}

const CALL: Duration = Duration::from_secs(20);

struct Callback {
    corp: String,
    secret: Secret,
    agent: i64,
    seal: Seal,
    api: Api,
    at: ListenAt,
    tokens: Tokens,
}

/// The keys of the sealed letters.
struct Seal {
    token: Secret,
    key: Vec<u8>,
    corp: String,
}

fn open(opening: &Opening<'_>) -> Opened {
    let word = |name: &str| text_of(opening.settings, &format!("WECOM_CALLBACK_{name}"));
    let (Some(corp), Some(secret)) = (word("CORP_ID"), word("CORP_SECRET")) else {
        return Ok(Vec::new());
    };
    let agent = word("AGENT_ID").and_then(|text| text.parse().ok());
    let agent = agent.ok_or("WECOM_CALLBACK_AGENT_ID is the number of the application")?;
    let token = word("TOKEN").ok_or("WECOM_CALLBACK_TOKEN is missing: nothing unsigned is read")?;
    let key = word("ENCODING_AES_KEY").and_then(|text| lenient(&format!("{text}=")));
    let key = key
        .filter(|key| key.len() == 32)
        .ok_or("WECOM_CALLBACK_ENCODING_AES_KEY has 43 characters: copy it from the console")?;
    let at = ListenAt::of(opening, "WECOM_CALLBACK", (8645, "/wecom/callback"))?;
    let base = opening.settings.text("platforms.wecom_callback.base_url");
    let base = base.unwrap_or("https://qyapi.weixin.qq.com");
    let api = Api::new(opening.net, &format!("{base}/cgi-bin"), None, "wecom")?;
    let seal = Seal { token: Secret::new(token), key, corp: corp.clone() };
    let (secret, tokens) = (Secret::new(secret), Tokens::default());
    Ok(vec![Arc::new(Callback { corp, secret, agent, seal, api, at, tokens })])
}

impl Seal {
    /// What is signed: the token, the time, a word used once and what is sealed, in order.
    fn is_signed(&self, signature: &str, parts: [&str; 3]) -> bool {
        let mut all = vec![self.token.expose()];
        all.extend(parts);
        all.sort_unstable();
        same(signature, &sha1(all.concat().as_bytes()))
    }

    /// What is sealed: sixteen random bytes, a length, the letter, and who it is for.
    fn opened(&self, sealed: &str) -> Option<String> {
        let iv: [u8; 16] = self.key.get(..16)?.try_into().ok()?;
        let plain = opened(&self.key, iv, &unbased(sealed)?, 32)?;
        let length: [u8; 4] = plain.get(16..20)?.try_into().ok()?;
        let end = 20 + usize::try_from(u32::from_be_bytes(length)).ok()?;
        let (letter, whose) = (plain.get(20..end)?, plain.get(end..)?);
        (whose == self.corp.as_bytes()).then(|| String::from_utf8_lossy(letter).into_owned())
    }
}

/// The elements below the first one, by their names.
fn fields(xml: &str) -> BTreeMap<String, String> {
    let mut reader = quick_xml::Reader::from_str(xml);
    let (mut path, mut found): (Vec<String>, BTreeMap<String, String>) = Default::default();
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                path.push(start.name().as_ref().to_owned());
            }
            Ok(Event::End(_)) => {
                path.pop();
            }
            Ok(Event::CData(text)) if path.len() == 2 => {
                found.insert(path[1].clone(), (*text).to_owned());
            }
            Ok(Event::Text(text)) if path.len() == 2 => {
                let text = text.trim().to_owned();
                if !text.is_empty() {
                    found.insert(path[1].clone(), text);
                }
            }
            Ok(Event::Eof) | Err(_) => return found,
            Ok(_) => {}
        }
    }
}

impl Callback {
    async fn heard(&self, link: &Link, hit: Hit) -> Said {
        let query = |name: &str| hit.query(name).unwrap_or_default();
        let (time, nonce) = (query("timestamp"), query("nonce"));
        let body = String::from_utf8_lossy(&hit.body).into_owned();
        let asks = hit.method == Method::GET;
        let sealed = if asks {
            query("echostr")
        } else {
            fields(&body).remove("Encrypt").unwrap_or_default()
        };
        if !self.seal.is_signed(&query("msg_signature"), [&time, &nonce, &sealed]) {
            return Said::unsigned();
        }
        let Some(letter) = self.seal.opened(&sealed) else { return Said::unsigned() };
        if asks {
            return Said::text(200, letter);
        }
        let Some(arrival) = arrival(&fields(&letter)) else { return Said::taken() };
        match link.take(arrival).await {
            Ok(()) => Said::taken(),
            Err(_) => Said::again(),
        }
    }

    async fn token(&self) -> Result<String, SendError> {
        let fetch = async {
            let path = format!(
                "gettoken?corpid={}&corpsecret={}",
                segment(&self.corp),
                segment(self.secret.expose())
            );
            let answer = self.api.call(Method::GET, &path, None, CALL).await;
            let body = answer.map_err(|error| send_error(&error))?.body;
            Fetched::of(&body, "access_token", "expires_in").ok_or_else(|| refused(&body))
        };
        self.tokens.get(fetch).await
    }

    /// One call with a token; a token that has lapsed is fetched once more.
    async fn post(&self, path: &str, body: &Value) -> Result<Value, SendError> {
        for last in [false, true] {
            let join = if path.contains('?') { '&' } else { '?' };
            let path = format!("{path}{join}access_token={}", segment(&self.token().await?));
            let answer = self.api.call(Method::POST, &path, Some(body), CALL).await;
            let answer = answer.map_err(|error| send_error(&error))?.body;
            match answer.get("errcode").and_then(Value::as_i64) {
                Some(0) => return Ok(answer),
                Some(40_014 | 42_001) if !last => self.tokens.forget(),
                _ => return Err(refused(&answer)),
            }
        }
        Err(SendError::Auth("WeCom refuses its own token".to_owned()))
    }

    async fn upload(&self, file: &MediaFile) -> Result<String, SendError> {
        let bytes = crate::media::read(file)?;
        let (kind, form) = multipart(&[], ("media", &file.name, &file.mime, &bytes));
        let path = format!("media/upload?type=file&access_token={}", segment(&self.token().await?));
        let request = self.api.request(Method::POST, &path);
        let request = request.and_then(|it| it.header("content-type", &kind));
        let request = request.map_err(|error| send_error(&error))?.body(form);
        let answer = self.api.answer(request, Duration::from_mins(1)).await;
        let body = answer.map_err(|error| send_error(&error))?.body;
        let id = body.get("media_id").and_then(Value::as_str).map(str::to_owned);
        id.ok_or_else(|| refused(&body))
    }
}

/// A letter in everybody's words; nothing when it is no message.
fn arrival(letter: &BTreeMap<String, String>) -> Option<Arrival> {
    let word = |name: &str| letter.get(name).map(String::as_str).unwrap_or_default();
    let (from, at) = (word("FromUserName"), word("CreateTime"));
    let text = match word("MsgType") {
        "text" => word("Content").to_owned(),
        "location" => format!("[location {}, {}]", word("Location_X"), word("Location_Y")),
        "image" | "voice" | "video" => format!("[{}, not read]", word("MsgType")),
        _ => return None,
    };
    let dedup = match word("MsgId") {
        "" => format!("{from}-{at}"),
        id => id.to_owned(),
    };
    let sender = Sender { id: Some(from.to_owned()), name: from.to_owned(), ..Sender::default() };
    let sent_ms = at.parse::<i64>().ok()? * 1000;
    let addressed = !from.is_empty();
    let arrival =
        Arrival { sent_ms, sender, addressed, ..Arrival::text(from, from, &dedup, &text) };
    addressed.then_some(arrival)
}

fn refused(body: &Value) -> SendError {
    let said = body.get("errmsg").and_then(Value::as_str).unwrap_or("no description").to_owned();
    match body.get("errcode").and_then(Value::as_i64) {
        Some(40_001 | 40_013 | 40_091) => SendError::Auth(said),
        Some(45_009 | 45_033) => SendError::RateLimited { after: Duration::from_mins(1) },
        Some(-1) => SendError::Transient(said),
        Some(45_002) => SendError::TooLong(said),
        Some(_) => SendError::Unreachable(said),
        None => SendError::Ambiguous(said),
    }
}

impl Platform for Callback {
    fn account(&self) -> &str {
        &self.corp
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(async move {
            self.probe().await?;
            listen(&self.at, link, |hit| self.heard(link, hit)).await
        })
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let mut body = json!({
                "touser": message.lane.chat, "agentid": self.agent, "msgtype": "text",
                "text": { "content": message.text },
                "enable_duplicate_check": 1, "duplicate_check_interval": 1800,
            });
            if let Some(file) = message.media {
                body["msgtype"] = json!("file");
                body["file"] = json!({ "media_id": self.upload(file).await? });
            }
            let answer = self.post("message/send", &body).await?;
            // Nobody of that name: the call is good, and nothing arrives.
            let lost = answer.get("invaliduser").and_then(Value::as_str).unwrap_or_default();
            if !lost.is_empty() {
                return Err(SendError::Unreachable(format!("WeCom knows no `{lost}`")));
            }
            let id = answer.get("msgid").and_then(Value::as_str).unwrap_or_default();
            Ok(id.to_owned())
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async move {
            match self.token().await {
                Ok(_) => Ok(self.corp.clone()),
                Err(SendError::Auth(why)) => {
                    Err(LinkError::Fatal(format!("WeCom refuses the secret: {why}")))
                }
                Err(error) => Err(LinkError::Lost(error.to_string())),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal() -> Seal {
        Seal {
            token: Secret::new("QDG6eK"),
            key: lenient("jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C=").unwrap(),
            corp: "wx5823bf96d3bd56c7".to_owned(),
        }
    }

    #[test]
    fn s96_the_vendors_own_letters_are_opened() {
        let seal = seal();
        let echo = "P9nAzCzyDtyTWESHep1vC5X9xho/qYX3Zpb4yKa9SKld1DsH3Iyt3tP3zNdtp+4RPcs8TgAE7OaBO+FZXvnaqQ==";
        let signed = "5c45ff5e21c57e6ad56bac8758b79b1d9ac89fd3";
        assert!(seal.is_signed(signed, ["1409659589", "263014780", echo]));
        assert!(!seal.is_signed(signed, ["1409659590", "263014780", echo]));
        assert_eq!(seal.opened(echo).as_deref(), Some("1616140317555161061"));
        let letter = "RypEvHKD8QQKFhvQ6QleEB4J58tiPdvo+rtK1I9qca6aM/wvqnLSV5zEPeusUiX5L5X/0lWfrf0QADHHhGd3QczcdCUpj911L3vg3W/sYYvuJTs3TUUkSUXxaccAS0qhxchrRYt66wiSpGLYL42aM6A8dTT+6k4aSknmPj48kzJs8qLjvd4Xgpue06DOdnLxAUHzM6+kDZ+HMZfJYuR+LtwGc2hgf5gsijff0ekUNXZiqATP7PF5mZxZ3Izoun1s4zG4LUMnvw2r+KqCKIw+3IQH03v+BCA9nMELNqbSf6tiWSrXJB3LAVGUcallcrw8V2t9EL4EhzJWrQUax5wLVMNS0+rUPA3k22Ncx4XXZS9o0MBH27Bo6BpNelZpS+/uh9KsNlY6bHCmJU9p8g7m3fVKn28H3KDYA5Pl/T8Z1ptDAVe0lXdQ2YoyyH2uyPIGHBZZIs2pDBS8R07+qN+E7Q==";
        let signed = "477715d11cdb4164915debcba66cb864d751f3e6";
        assert!(seal.is_signed(signed, ["1409659813", "1372623149", letter]));
        let arrival = arrival(&fields(&seal.opened(letter).unwrap())).unwrap();
        assert_eq!((arrival.chat.as_str(), arrival.text.as_str()), ("mycreate", "hello"));
        assert_eq!(arrival.dedup, "4561255354251345929");
        let other = Seal { corp: "wx0000000000000000".to_owned(), ..seal };
        assert_eq!(other.opened(letter), None, "a letter for somebody else");
    }
}
