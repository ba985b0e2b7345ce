//! Yuanbao: groups, private messages and stickers, by a bot's account.
//!
//! A call signs in, opens the vendor's WebSocket, asks and closes it. The vendor publishes no
//! description; the frames are those that the clients of others speak.

mod inbound;
mod media;
mod stickers;
mod wire;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use aws_lc_rs::hmac;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use petasos_contract::{Secret, Settings, wait};
use petasos_net::websocket::{WebSocketReceiver, WebSocketSender};
use petasos_net::{Method, Request};
use serde_json::{Value, json};

use crate::fault::VendorError;
use crate::service::{Sent, Service, variable};
use crate::text::cut;
pub use inbound::Inbound;
pub use stickers::{Sticker, search, sticker};
use wire::{Frame, Message};

/// What is said when there are no credentials.
pub const NEEDS: &str =
    "needs a connected Yuanbao adapter: set YUANBAO_APP_ID and YUANBAO_APP_SECRET";

const API: &str = "https://bot.yuanbao.tencent.com";
const SOCKET: &str = "https://bot-wss.yuanbao.tencent.com/wss/connection";
const SIGN: &str = "/api/v5/robotLogic/sign-token";
/// The modules of the vendor that answer.
const CONNECTION: &str = "conn_access";
const BOTS: &str = "yuanbao_openclaw_proxy";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What the vendor's servers expect of a program such as this one.
const INSTANCE: &str = "17";
const WITHIN: Duration = Duration::from_secs(15);
const FRAME_BYTES_MAX: usize = 4 << 20;
const MEMBERS_A_PAGE: u64 = 200;
const MEMBERS_MAX: usize = 5000;

/// Whether there are credentials.
pub fn is_set_up(settings: &Settings) -> bool {
    variable(settings, "YUANBAO_APP_ID").is_some()
        && variable(settings, "YUANBAO_APP_SECRET").is_some()
}

/// The hosts that are asked.
pub fn hosts(settings: &Settings) -> Vec<String> {
    let host = |url: String| petasos_net::checked_url(&url).ok()?.host_str().map(str::to_owned);
    [api(settings), socket(settings)].into_iter().filter_map(host).collect()
}

fn api(settings: &Settings) -> String {
    let named = settings.text("services.endpoints.yuanbao").map(str::to_owned);
    let domain = || variable(settings, "YUANBAO_API_DOMAIN").map(|it| it.expose().to_owned());
    let base = named.or_else(domain).unwrap_or_else(|| API.to_owned());
    if base.contains("://") { base } else { format!("https://{base}") }
}

fn socket(settings: &Settings) -> String {
    let named = settings.text("services.endpoints.yuanbao_ws").map(str::to_owned);
    let set = || variable(settings, "YUANBAO_WS_URL").map(|it| it.expose().to_owned());
    let url = named.or_else(set).unwrap_or_else(|| SOCKET.to_owned());
    // The handshake is an ordinary request.
    match url.strip_prefix("ws") {
        Some(rest) if url.starts_with("ws:") || url.starts_with("wss:") => format!("http{rest}"),
        _ => url,
    }
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its account.
    pub user_id: String,
    /// What people call it.
    pub nickname: String,
    /// Person, bot or the vendor's own assistant.
    pub role: &'static str,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How many are in it.
    pub members: u64,
    /// Whose it is.
    pub owner: (String, String),
}

/// Who gets a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// One person, who is met in this group.
    Person {
        /// The account.
        user: String,
        /// The group.
        group: Option<String>,
    },
    /// Everybody in a group.
    Group(String),
}

impl To {
    /// A chat as people write it: `group:CODE`, `direct:ACCOUNT` or an account.
    pub fn parse(chat: &str) -> Option<Self> {
        let chat = chat.trim();
        if let Some(code) = chat.strip_prefix("group:").filter(|it| !it.is_empty()) {
            return Some(Self::Group(code.to_owned()));
        }
        let user = chat.strip_prefix("direct:").unwrap_or(chat);
        (!user.is_empty()).then(|| Self::Person { user: user.to_owned(), group: None })
    }

    /// The chat in one word.
    pub fn chat(&self) -> String {
        match self {
            Self::Person { user, .. } => format!("direct:{user}"),
            Self::Group(code) => format!("group:{code}"),
        }
    }
}

/// What a message is made of.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Words.
    Text(String),
    /// A sticker.
    Sticker(Sticker),
    /// A file with its name.
    File {
        /// The name.
        name: String,
        /// What is in it.
        bytes: Vec<u8>,
    },
}

/// The account that signed in.
#[derive(Debug, Clone)]
struct Account {
    bot: String,
    source: String,
    token: Secret,
}

/// An open connection.
#[derive(Debug)]
pub struct Client {
    service: Service,
    account: Account,
    sender: WebSocketSender,
    receiver: WebSocketReceiver,
    number: u64,
    deadline: Instant,
    settings: std::sync::Arc<Settings>,
    /// What came while something else was waited for.
    pushed: std::collections::VecDeque<(wire::Head, Message)>,
}

/// So much that came in between is kept.
const PUSHED_MAX: usize = 1000;

impl Client {
    /// Signs in and opens the connection.
    pub async fn open(settings: &std::sync::Arc<Settings>) -> Result<Self, VendorError> {
        let (Some(id), Some(secret)) =
            (variable(settings, "YUANBAO_APP_ID"), variable(settings, "YUANBAO_APP_SECRET"))
        else {
            return Err(VendorError::setup(NEEDS, &["YUANBAO_APP_ID", "YUANBAO_APP_SECRET"]));
        };
        let service = Service::new("Yuanbao", &api(settings), settings)?;
        let account = sign_in(&service, &id, &secret).await?;
        let url = petasos_net::checked_url(&socket(settings))
            .map_err(|why| VendorError::new("missing_setup", why.to_string()))?;
        let request = Request::new(Method::GET, url).first_byte(WITHIN);
        let opened = service.net().websocket(request, FRAME_BYTES_MAX).await?;
        let (sender, receiver) = opened.split();
        let deadline = Instant::now() + WITHIN;
        let settings = std::sync::Arc::clone(settings);
        let mut client = Self {
            service,
            account,
            sender,
            receiver,
            number: 0,
            deadline,
            settings,
            pushed: std::collections::VecDeque::new(),
        };
        client.bind().await?;
        Ok(client)
    }

    /// Says who we are.
    async fn bind(&mut self) -> Result<(), VendorError> {
        let who = Message::default()
            .text(1, &self.account.bot)
            .text(2, &self.account.source)
            .text(3, self.account.token.expose());
        let device = Message::default()
            .text(1, VERSION)
            .text(2, std::env::consts::OS)
            .text(10, INSTANCE)
            .text(24, VERSION);
        let mut ask = Message::default().text(1, "ybBot").message(2, &who).message(3, &device);
        if let Some(env) = variable(&self.settings, "YUANBAO_ROUTE_ENV") {
            ask = ask.text(5, env.expose());
        }
        self.ask("auth-bind", CONNECTION, &ask).await.map(|_| ()).map_err(|error| {
            let why = "Yuanbao refuses the bot; check YUANBAO_APP_ID and YUANBAO_APP_SECRET";
            if error.kind == "upstream" {
                VendorError { kind: "auth", message: why.to_owned(), ..error }
            } else {
                error
            }
        })
    }

    /// Asks and waits for the answer to this very question.
    async fn ask(
        &mut self,
        command: &str,
        module: &str,
        body: &Message,
    ) -> Result<Message, VendorError> {
        self.number += 1;
        self.deadline = Instant::now() + WITHIN;
        let id = format!("{command}_{}_{}", self.number, random_hex(4)?);
        let frame = Frame::request(command, module, &id, self.number);
        self.sender.send_bytes(frame.encode(body), WITHIN).await?;
        loop {
            let next =
                wait::until(self.deadline, "an answer of Yuanbao", self.receiver.next_bytes());
            let bytes = match next.await {
                Err(_) => return Err(self.service.late()),
                Ok(None) => return Err(self.gone()),
                Ok(Some(bytes)) => bytes?,
            };
            let Some((head, answer)) = Frame::decode(&bytes) else {
                return Err(VendorError::new(
                    "upstream",
                    "Yuanbao sent a frame that makes no sense",
                ));
            };
            if !head.is_answer || head.id != id {
                // Messages for the bot come in between; they are for whoever listens to them.
                if head.is_push && self.pushed.len() < PUSHED_MAX {
                    self.pushed.push_back((head, answer));
                }
                continue;
            }
            let code = if head.status == 0 { answer.number(1) } else { head.status };
            if code == 0 {
                return Ok(answer);
            }
            let why = format!("Yuanbao refuses `{command}` ({})", code.cast_signed());
            let said = cut(&answer.said(2), 300);
            let error = VendorError::new("upstream", why).with("code", code.cast_signed());
            return Err(if said.is_empty() { error } else { error.with("detail", said) });
        }
    }

    fn gone(&self) -> VendorError {
        let why = match self.receiver.farewell() {
            Some((code, why)) => format!("Yuanbao closed the connection ({code} {why})"),
            None => "Yuanbao closed the connection".to_owned(),
        };
        VendorError::new("upstream", why)
    }

    /// A group.
    pub async fn group(&mut self, code: &str) -> Result<Group, VendorError> {
        let told = self.ask("query_group_info", BOTS, &Message::default().text(1, code)).await?;
        let Some(group) = told.inner(3) else {
            let why = format!("Yuanbao knows no group `{code}` that the bot is in");
            return Err(VendorError::new("not_found", why));
        };
        Ok(Group {
            name: group.said(1),
            members: group.number(4),
            owner: (group.said(2), group.said(3)),
        })
    }

    /// Everybody in a group.
    pub async fn members(&mut self, code: &str) -> Result<Vec<Member>, VendorError> {
        let mut all: Vec<Member> = Vec::new();
        let mut offset = 0;
        loop {
            let ask = Message::default().text(1, code).count(2, offset).count(3, MEMBERS_A_PAGE);
            let told = self.ask("get_group_member_list", BOTS, &ask).await?;
            let page = told.all(3);
            let is_empty = page.is_empty();
            all.extend(page.iter().map(|it| Member {
                user_id: it.said(1),
                nickname: it.said(2),
                role: role(it.number(3)),
            }));
            let next = told.number(4);
            if told.number(5) != 0 || is_empty || next <= offset || all.len() >= MEMBERS_MAX {
                return Ok(all);
            }
            offset = next;
        }
    }

    /// Sends a message; gives its number.
    pub async fn send(
        &mut self,
        to: &To,
        part: &Part,
        reply_to: Option<&str>,
    ) -> Result<String, VendorError> {
        let element = self.element(part).await?;
        let id = random_hex(16)?;
        let random = u64::from(u32::from_str_radix(&random_hex(4)?, 16).unwrap_or(1));
        let (command, body) = match to {
            To::Person { user, group } => {
                let body = Message::default()
                    .text(1, &id)
                    .text(2, user)
                    .text(3, &self.account.bot)
                    .count(4, random)
                    .message(5, &element);
                let body = group.iter().fold(body, |body, group| body.text(6, group));
                ("send_c2c_message", body)
            }
            To::Group(code) => {
                let body = Message::default()
                    .text(1, &id)
                    .text(2, code)
                    .text(3, &self.account.bot)
                    .text(5, &random.to_string())
                    .message(6, &element);
                let body = reply_to.iter().fold(body, |body, message| body.text(7, message));
                ("send_group_message", body)
            }
        };
        self.ask(command, BOTS, &body).await?;
        Ok(id)
    }

    async fn element(&self, part: &Part) -> Result<Message, VendorError> {
        match part {
            Part::Text(text) => Ok(element("TIMTextElem", &Message::default().text(1, text))),
            Part::Sticker(sticker) => {
                let data = json!({
                    "sticker_id": sticker.id,
                    "package_id": stickers::PACKAGE,
                    "width": 128,
                    "height": 128,
                    "formats": "png",
                    "name": sticker.name,
                });
                Ok(element("TIMFaceElem", &Message::default().text(4, &data.to_string())))
            }
            Part::File { name, bytes } => {
                let place = media::Upload { account: &self.account, name, bytes };
                let url = place.put(&self.service, &self.settings).await?;
                Ok(media::element(name, &url, bytes))
            }
        }
    }

    /// Ends the connection.
    pub async fn close(mut self) {
        self.sender.close().await;
    }
}

fn element(kind: &str, content: &Message) -> Message {
    Message::default().text(1, kind).message(2, content)
}

fn role(kind: u64) -> &'static str {
    match kind {
        1 => "user",
        2 => "yuanbao_ai",
        3 => "bot",
        _ => "unknown",
    }
}

fn random_hex(bytes: usize) -> Result<String, VendorError> {
    let mut bits = vec![0_u8; bytes];
    aws_lc_rs::rand::fill(&mut bits)
        .map_err(|_| VendorError::new("upstream", "this machine gives no random bytes"))?;
    Ok(hex(&bits))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing into a String cannot fail.
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

/// A token for the bot, signed with its secret, which itself is not sent.
async fn sign_in(service: &Service, id: &Secret, secret: &Secret) -> Result<Account, VendorError> {
    let nonce = random_hex(16)?;
    let zone = TimeZone::fixed(Offset::constant(8));
    let now = Timestamp::now().to_zoned(zone).strftime("%Y-%m-%dT%H:%M:%S+08:00").to_string();
    let plain = format!("{nonce}{now}{}{}", id.expose(), secret.expose());
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
    let signature = hex(hmac::sign(&key, plain.as_bytes()).as_ref());
    let body = json!({
        "app_key": id.expose(),
        "nonce": nonce,
        "signature": signature,
        "timestamp": now,
    });
    let mut sent = Sent::json(&body);
    sent.headers = vec![
        ("x-appversion", VERSION.to_owned()),
        ("x-operationsystem", std::env::consts::OS.to_owned()),
        ("x-instance-id", INSTANCE.to_owned()),
        ("x-bot-version", VERSION.to_owned()),
    ];
    let told = service.json(Method::POST, SIGN, sent).await?;
    if told["code"].as_i64() != Some(0) {
        let why = "Yuanbao refuses to sign the bot in; check YUANBAO_APP_ID and YUANBAO_APP_SECRET";
        let said = told["msg"].as_str().unwrap_or_default();
        return Err(VendorError::new("auth", why).with("detail", cut(said, 300)));
    }
    let data = &told["data"];
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let source = text("source");
    Ok(Account {
        bot: text("bot_id"),
        source: if source.is_empty() { "web".to_owned() } else { source },
        token: Secret::new(text("token")),
    })
}
