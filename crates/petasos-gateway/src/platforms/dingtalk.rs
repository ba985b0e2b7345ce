//! `dingtalk`: a robot of DingTalk by its stream: a WebSocket that the server hands out a ticket for.
//!
//! Every message carries an address for answers that lapses with it; afterwards the robot sends by
//! the REST interface. A callback is acknowledged after it is stored.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::{BoxFuture, Secret};
use petasos_net::{Method, Request, Scheme, Url, checked_url};
use petasos_store::{ChatKind, MediaFile};
use serde_json::{Value, json};

use crate::api::{Api, link_error, multipart, of_status, segment, send_error};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{
    Arrival, LinkError, Opened, Opening, Outgoing, Platform, PlatformDef, Rates, Repeats,
    SendError, Sender, TargetId, now_ms,
};
use crate::render::{Dialect, Form, Unit};
use crate::socket::Socket;
use crate::token::{Fetched, Tokens};

pub(super) static PLATFORM: PlatformDef = PlatformDef {
    name: "dingtalk",
    about: "DingTalk: a robot by its stream",
    toolset: "hermes-dingtalk",
    variables: &["DINGTALK_CLIENT_ID", "DINGTALK_CLIENT_SECRET"],
    form: Form { dialect: Dialect::CommonMark, limit: 20_000, unit: Unit::Chars },
    // Twenty a minute for a robot.
    rates: Rates { account: Duration::from_millis(50), chat: Duration::from_secs(3), burst: 15 },
    repeats: Repeats::Seen,
    media_bytes_max: FILE_BYTES_MAX,
    mention: true,
    context: true,
    hint: "The conversation is on DingTalk.",
    setup: &[
        "create an application with a robot in stream mode at open.dingtalk.com, and set DINGTALK_CLIENT_ID and DINGTALK_CLIENT_SECRET",
        "put staff ids into DINGTALK_ALLOWED_USERS",
    ],
    tested_with: "a double built from the published stream protocol",
    direct: true,
    target: TargetId::usual,
    canonical: |id| Some(id.trim().to_owned()).filter(|id| !id.is_empty()),
    open,
    ..PlatformDef::USUAL
};

const CALL: Duration = Duration::from_secs(20);
const TOPIC: &str = "/v1.0/im/bot/messages/get";
/// The server pings at least this often.
const SILENCE: Duration = Duration::from_mins(3);
const FILE_BYTES_MAX: u64 = 20_000_000;
/// An address for answers is not used so shortly before it lapses.
const EARLY_MS: i64 = 60_000;
/// Chats with one person are written to by the person.
const PERSON: &str = "person.";

struct DingTalk {
    account: String,
    secret: Secret,
    robot: String,
    api: Api,
    base: String,
    /// The older interface, which alone takes files.
    older: Api,
    net: Arc<petasos_net::Net>,
    tokens: Tokens,
}

fn open(opening: &Opening<'_>) -> Opened {
    let word = |name: &str| text_of(opening.settings, &format!("DINGTALK_{name}"));
    let (Some(account), Some(secret)) = (word("CLIENT_ID"), word("CLIENT_SECRET")) else {
        return Ok(Vec::new());
    };
    let at = |key: &str| opening.settings.text(&format!("platforms.dingtalk.{key}"));
    let base = at("base_url").unwrap_or("https://api.dingtalk.com").to_owned();
    let robot = at("robot_code").unwrap_or(&account).to_owned();
    let api = Api::new(opening.net, &base, None, "dingtalk")?;
    let older = at("oapi_url").unwrap_or("https://oapi.dingtalk.com");
    let older = Api::new(opening.net, older, None, "dingtalk")?;
    let (secret, net, tokens) = (Secret::new(secret), Arc::clone(opening.net), Tokens::default());
    Ok(vec![Arc::new(DingTalk { account, secret, robot, api, base, older, net, tokens })])
}

impl DingTalk {
    async fn read(&self, link: &Link) -> Result<(), LinkError> {
        let body = json!({
            "clientId": self.account, "clientSecret": self.secret.expose(),
            "subscriptions": [{ "type": "CALLBACK", "topic": TOPIC }], "ua": "petasos",
        });
        let answer =
            self.api.call(Method::POST, "v1.0/gateway/connections/open", Some(&body), CALL);
        let answer = answer.await.map_err(|error| link_error(&error))?;
        let text = |key: &str| answer.body.get(key).and_then(Value::as_str).unwrap_or_default();
        match answer.status {
            200 => {}
            400 | 401 | 403 => {
                return Err(LinkError::Fatal(format!(
                    "DingTalk refuses the secret: {}",
                    text("message")
                )));
            }
            status => return Err(LinkError::Lost(format!("{status} {}", text("message")))),
        }
        let address = format!("{}?ticket={}", text("endpoint"), segment(text("ticket")));
        let mut socket = Socket::open(&self.net, &address).await?;
        link.progress();
        loop {
            let Some(frame) = socket.next_within(SILENCE).await? else {
                return Err(LinkError::Lost("the server gives no sign of life".to_owned()));
            };
            let word = |path: &str| frame.pointer(path).and_then(Value::as_str).unwrap_or_default();
            let ack = |data: &str| {
                json!({
                    "code": 200, "message": "OK", "data": data,
                    "headers": { "messageId": word("/headers/messageId"), "contentType": "application/json" },
                })
            };
            match (word("/type"), word("/headers/topic")) {
                ("SYSTEM", "ping") => socket.say(&ack(word("/data"))).await?,
                ("SYSTEM", "disconnect") => {
                    return Err(LinkError::Lost("the server wants us to connect anew".to_owned()));
                }
                ("CALLBACK", TOPIC) => {
                    let data: Value = serde_json::from_str(word("/data")).unwrap_or_default();
                    if let Some(arrival) = self.arrival(link, &data).await {
                        link.room().await;
                        link.take(arrival).await?;
                    }
                    socket.say(&ack("{\"response\": {}}")).await?;
                }
                _ => {}
            }
        }
    }

    async fn arrival(&self, link: &Link, data: &Value) -> Option<Arrival> {
        let text = |path: &str| data.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let direct = text("/conversationType") == "1";
        let staff = text("/senderStaffId");
        let from = if staff.is_empty() { text("/senderId") } else { staff };
        let chat =
            if direct { format!("{PERSON}{from}") } else { text("/conversationId").to_owned() };
        let expires = data.get("sessionWebhookExpiredTime").and_then(Value::as_i64).unwrap_or(0);
        let mut arrival = Arrival {
            sent_ms: data.get("createAt").and_then(Value::as_i64).unwrap_or_else(now_ms),
            chat_name: text("/conversationTitle").to_owned(),
            chat_kind: if direct { ChatKind::Dm } else { ChatKind::Group },
            sender: Sender {
                id: Some(from.to_owned()),
                name: text("/senderNick").to_owned(),
                ..Sender::default()
            },
            addressed: direct || data.get("isInAtList").and_then(Value::as_bool) == Some(true),
            context: Some(format!("{expires} {}", text("/sessionWebhook"))),
            ..Arrival::text(&chat, from, text("/msgId"), text("/text/content").trim())
        };
        match text("/msgtype") {
            "text" => {}
            "richText" => {
                let parts = data.pointer("/content/richText").and_then(Value::as_array);
                let words = parts.into_iter().flatten().filter_map(|it| it.get("text")?.as_str());
                arrival.text = words.collect::<Vec<_>>().join("\n");
            }
            "audio" => text("/content/recognition").clone_into(&mut arrival.text),
            "picture" | "file" | "video" => {
                let name = match text("/content/fileName") {
                    "" => "picture.png",
                    name => name,
                };
                let fetched = link
                    .fetch(&mut arrival, self.file(link, text("/content/downloadCode"), name))
                    .await;
                arrival.media.extend(fetched);
            }
            _ => return None,
        }
        Some(arrival)
    }

    async fn token(&self) -> Result<String, SendError> {
        let fetch = async {
            let body = json!({ "appKey": self.account, "appSecret": self.secret.expose() });
            let answer = self.api.call(Method::POST, "v1.0/oauth2/accessToken", Some(&body), CALL);
            let answer = answer.await.map_err(|error| send_error(&error))?;
            Fetched::of(&answer.body, "accessToken", "expireIn")
                .ok_or_else(|| of_status(&answer, "no token"))
        };
        self.tokens.get(fetch).await
    }

    async fn keyed(&self) -> Result<Api, SendError> {
        let header = Scheme::Header("x-acs-dingtalk-access-token");
        let key = Some((Secret::new(self.token().await?), header));
        Api::new(&self.net, &self.base, key, "dingtalk").map_err(SendError::Transient)
    }

    async fn file(&self, link: &Link, code: &str, name: &str) -> Result<MediaFile, String> {
        let body = json!({ "downloadCode": code, "robotCode": self.robot });
        let api = self.keyed().await.map_err(|error| error.to_string())?;
        let answer = api.call(Method::POST, "v1.0/robot/messageFiles/download", Some(&body), CALL);
        let answer = answer.await.map_err(|error| error.to_string())?;
        let url =
            answer.body.get("downloadUrl").and_then(Value::as_str).ok_or("it has no address")?;
        let url = self.own_url(url)?;
        let mime = crate::media::mime_of(name);
        let to = link.media_path(mime)?;
        self.api
            .download(Request::new(Method::GET, url), &to, link.file_bytes_max(FILE_BYTES_MAX))
            .await?;
        Ok(MediaFile {
            path: to.display().to_string(),
            mime: mime.to_owned(),
            name: name.to_owned(),
        })
    }

    /// An address that a frame names leads to the vendor's own hosts, or nowhere.
    fn own_url(&self, url: &str) -> Result<Url, String> {
        let url = checked_url(url).map_err(|error| error.to_string())?;
        let base = checked_url(&self.base).map_err(|error| error.to_string())?;
        let host = url.host_str().unwrap_or_default();
        let theirs = [".dingtalk.com", ".aliyuncs.com"].iter().any(|end| host.ends_with(end));
        let own = url.origin() == base.origin();
        if own || (theirs && url.scheme() == "https") {
            return Ok(url);
        }
        Err("it lies with somebody else".to_owned())
    }

    /// By the address that the last message carried.
    async fn answer(&self, url: Url, text: &str) -> Result<(), SendError> {
        let body =
            json!({ "msgtype": "markdown", "markdown": { "title": title(text), "text": text } });
        let request = Request::new(Method::POST, url).first_byte(CALL);
        let request = request.header("content-type", "application/json");
        let request = request.map_err(|error| send_error(&error))?.body(body.to_string());
        let answer = self.api.answer(request, CALL).await.map_err(|error| send_error(&error))?;
        let said = answer.body.get("errmsg").and_then(Value::as_str).unwrap_or("no description");
        match answer.body.get("errcode").and_then(Value::as_i64) {
            Some(0) => Ok(()),
            Some(130_101 | 130_102) => {
                Err(SendError::RateLimited { after: Duration::from_mins(1) })
            }
            Some(_) => Err(SendError::Unreachable(said.to_owned())),
            None => Err(of_status(&answer, said)),
        }
    }

    /// Gives a file to the vendor; how a message names it. A repeat of this shows nothing.
    async fn given(&self, file: &MediaFile) -> Result<(&'static str, Value), SendError> {
        let bytes = crate::media::read(file)?;
        let image = file.mime.starts_with("image/");
        let kind = if image { "image" } else { "file" };
        let token = self.token().await?;
        let path = format!("media/upload?access_token={}&type={kind}", segment(&token));
        let (form, body) = multipart(&[], ("media", &file.name, &file.mime, &bytes));
        let request = self.older.request(Method::POST, &path);
        let request = request.and_then(|it| it.header("content-type", &form));
        let request = request.map_err(|error| send_error(&error))?.body(body);
        let answer = self.older.answer(request, Duration::from_mins(1)).await;
        let answer = answer.map_err(|error| SendError::Transient(error.to_string()))?;
        let said = answer.body.get("errmsg").and_then(Value::as_str).unwrap_or("no description");
        let Some(id) = answer.body.get("media_id").and_then(Value::as_str) else {
            return Err(of_status(&answer, said));
        };
        let ending = file.name.rsplit_once('.').map_or("bin", |(_, ending)| ending);
        Ok(if image {
            ("sampleImageMsg", json!({ "photoURL": id }))
        } else {
            let param = json!({ "mediaId": id, "fileName": file.name, "fileType": ending });
            ("sampleFile", param)
        })
    }

    /// By the robot itself, to a person or a group.
    async fn push(&self, chat: &str, (key, param): (&str, Value)) -> Result<String, SendError> {
        let mut body =
            json!({ "robotCode": self.robot, "msgKey": key, "msgParam": param.to_string() });
        let path = if let Some(person) = chat.strip_prefix(PERSON) {
            body["userIds"] = json!([person]);
            "v1.0/robot/oToMessages/batchSend"
        } else {
            body["openConversationId"] = json!(chat);
            "v1.0/robot/groupMessages/send"
        };
        let answer = self.keyed().await?.call(Method::POST, path, Some(&body), CALL).await;
        let answer = answer.map_err(|error| send_error(&error))?;
        let said = answer.body.get("message").and_then(Value::as_str).unwrap_or("no description");
        if answer.status == 401 {
            self.tokens.forget();
            return Err(SendError::Transient(said.to_owned()));
        }
        if !answer.is_ok() {
            return Err(of_status(&answer, said));
        }
        let key = answer.body.get("processQueryKey").and_then(Value::as_str);
        Ok(key.unwrap_or_default().to_owned())
    }
}

/// What a list of chats shows of a message.
fn title(text: &str) -> String {
    text.lines().next().unwrap_or("…").chars().take(40).collect()
}

impl Platform for DingTalk {
    fn account(&self) -> &str {
        &self.account
    }

    fn run<'a>(&'a self, link: &'a Link) -> BoxFuture<'a, Result<(), LinkError>> {
        Box::pin(self.read(link))
    }

    fn send<'a>(&'a self, message: Outgoing<'a>) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let context = message.context.and_then(|it| it.split_once(' '));
            let valid = context.and_then(|(expires, url)| {
                let expires: i64 = expires.parse().ok()?;
                (expires > now_ms() + EARLY_MS).then(|| self.own_url(url).ok())?
            });
            let chat = &message.lane.chat;
            match (message.media, valid) {
                (Some(file), _) => self.push(chat, self.given(file).await?).await,
                (None, Some(url)) => self.answer(url, message.text).await.map(|()| String::new()),
                (None, None) => {
                    let words = json!({ "title": title(message.text), "text": message.text });
                    self.push(chat, ("sampleMarkdown", words)).await
                }
            }
        })
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, LinkError>> {
        Box::pin(async move {
            match self.token().await {
                Ok(_) => Ok(self.account.clone()),
                Err(SendError::Auth(why) | SendError::Unreachable(why)) => {
                    Err(LinkError::Fatal(format!("DingTalk refuses the secret: {why}")))
                }
                Err(error) => Err(LinkError::Lost(error.to_string())),
            }
        })
    }
}
