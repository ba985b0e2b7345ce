//! Discord: REST version 10 and its gateway, from the published types.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor};
use crate::suite::{Arrived, Side, Step};

const UNA: &str = "1001";
const CHANNEL: &str = "2001";
const BOT: &str = "42";

pub(crate) struct Discord {
    url: String,
    messages: Mutex<Vec<Value>>,
    sent: Mutex<Vec<Arrived>>,
    nonces: Mutex<HashMap<String, String>>,
    edits: Mutex<usize>,
    presses: Mutex<Vec<Value>>,
    slow: Mutex<bool>,
    /// The commands that it shows, and how often they were set.
    menu: Mutex<(Value, usize)>,
    sequence: Mutex<u64>,
    /// Sessions are forgotten, so that a new connection must read on by itself.
    pub(crate) resumes: Mutex<Vec<Value>>,
}

pub(crate) async fn new() -> Double<Discord> {
    Double::new(|url| Discord {
        url: url.to_owned(),
        messages: Mutex::default(),
        sent: Mutex::default(),
        nonces: Mutex::default(),
        edits: Mutex::default(),
        presses: Mutex::default(),
        slow: Mutex::default(),
        menu: Mutex::new((json!([]), 0)),
        sequence: Mutex::default(),
        resumes: Mutex::default(),
    })
    .await
}

impl Discord {
    fn event(&self, kind: &str, data: &Value) -> String {
        let mut sequence = self.sequence.lock();
        *sequence += 1;
        json!({ "op": 0, "t": kind, "s": *sequence, "d": data }).to_string()
    }

    fn message(id: u32, text: &str, files: &Value) -> Value {
        json!({
            // A snowflake of this moment would do; the number is what orders.
            "id": snowflake(id), "channel_id": CHANNEL, "type": 0, "content": text,
            "author": { "id": UNA, "username": "una", "global_name": "Una" },
            "timestamp": "2026-11-17T00:00:00Z", "mentions": [], "attachments": files,
        })
    }
}

/// A number whose time is now.
fn snowflake(id: u32) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let ms = u64::try_from(since.as_millis()).unwrap() - 1_420_070_400_000;
    ((ms << 22) | u64::from(id)).to_string()
}

impl Vendor for Discord {
    fn call(&self, call: &Call) -> Reply {
        let path = call.path.split('?').next().unwrap();
        if path.starts_with("/gateway/") {
            return Reply::Socket;
        }
        if let Some(name) = path.strip_prefix("/cdn/") {
            assert!(!call.headers.to_lowercase().contains("authorization"), "{name}");
            return Reply::Bytes(b"words inside".to_vec());
        }
        if !call.headers.contains("Bot NDI.x.y") {
            return Reply::Json(401, json!({ "message": "401: Unauthorized", "code": 0 }));
        }
        match (call.method.as_str(), path) {
            ("GET", "/api/users/@me") => Reply::Json(200, json!({ "id": BOT, "username": "bot" })),
            ("GET", "/api/applications/@me") => Reply::Json(200, json!({ "id": "4711" })),
            ("GET", "/api/applications/4711/commands") => {
                Reply::Json(200, self.menu.lock().0.clone())
            }
            ("PUT", "/api/applications/4711/commands") => {
                let mut menu = self.menu.lock();
                *menu = (call.json(), menu.1 + 1);
                Reply::Json(200, menu.0.clone())
            }
            ("GET", "/api/gateway/bot") => Reply::Json(
                200,
                json!({ "url": format!("{}/gateway", self.url.replace("http:", "ws:")), "shards": 1 }),
            ),
            ("GET", "/api/channels/2001/messages") => {
                let after: u64 = call
                    .path
                    .split("after=")
                    .nth(1)
                    .unwrap()
                    .split('&')
                    .next()
                    .unwrap()
                    .parse()
                    .unwrap();
                let newer =
                    |it: &&Value| it["id"].as_str().unwrap().parse::<u64>().unwrap() > after;
                let mut found: Vec<Value> =
                    self.messages.lock().iter().filter(newer).cloned().collect();
                found.reverse();
                Reply::Json(200, Value::Array(found))
            }
            ("POST", "/api/channels/2001/messages") => self.posted(call),
            ("POST", "/api/channels/2001/typing") => Reply::Json(200, json!({})),
            ("PATCH", _) => {
                *self.edits.lock() += 1;
                Reply::Json(200, json!({ "id": "1" }))
            }
            ("POST", _) if path.starts_with("/api/interactions/") => {
                self.presses.lock().push(call.json());
                Reply::Json(200, json!({}))
            }
            other => Reply::Json(404, json!({ "message": format!("{other:?}"), "code": 0 })),
        }
    }

    fn hears(&self, frame: Option<&Value>) -> Vec<String> {
        let Some(frame) = frame else {
            return vec![json!({ "op": 10, "d": { "heartbeat_interval": 200 } }).to_string()];
        };
        match frame["op"].as_u64() {
            Some(1) => vec![json!({ "op": 11 }).to_string()],
            Some(2) => {
                assert_eq!(frame["d"]["token"], "NDI.x.y");
                *self.sequence.lock() = 0;
                let url = format!("{}/gateway", self.url.replace("http:", "ws:"));
                let ready =
                    json!({ "session_id": "s1", "resume_gateway_url": url, "user": { "id": BOT } });
                vec![self.event("READY", &ready)]
            }
            Some(6) => {
                self.resumes.lock().push(frame["d"].clone());
                vec![json!({ "op": 9, "d": false }).to_string()]
            }
            _ => Vec::new(),
        }
    }
}

impl Discord {
    fn posted(&self, call: &Call) -> Reply {
        if std::mem::take(&mut *self.slow.lock()) {
            return Reply::Json(
                429,
                json!({ "message": "slow down", "retry_after": 0.05, "global": false }),
            );
        }
        let text = String::from_utf8_lossy(&call.body).into_owned();
        let (body, file) = match text.split_once("name=\"payload_json\"\r\n\r\n") {
            Some((_, rest)) => {
                let json = rest.split("\r\n").next().unwrap();
                let file = rest.split("filename=\"").nth(1).unwrap().split('"').next().unwrap();
                (serde_json::from_str(json).unwrap(), Some(file.to_owned()))
            }
            None => (call.json(), None),
        };
        let content = body["content"].as_str().unwrap().to_owned();
        if content.encode_utf16().count() > 2000 {
            return Reply::Json(
                400,
                json!({ "code": 50035, "message": "Invalid Form Body", "errors": { "content": { "_errors": [{ "code": "BASE_TYPE_MAX_LENGTH" }] } } }),
            );
        }
        assert_eq!(body["enforce_nonce"], true);
        assert_eq!(body["allowed_mentions"], json!({ "parse": [] }));
        let nonce = body["nonce"].as_str().unwrap().to_owned();
        assert!(nonce.len() <= 25);
        let mut nonces = self.nonces.lock();
        if let Some(id) = nonces.get(&nonce) {
            return Reply::Json(200, json!({ "id": id }));
        }
        let id = snowflake(500_000 + u32::try_from(nonces.len()).unwrap());
        nonces.insert(nonce, id.clone());
        let buttons = body["components"].as_array().into_iter().flatten();
        let buttons = buttons.flat_map(|row| row["components"].as_array().unwrap().clone());
        let buttons = buttons.map(|it| it["custom_id"].as_str().unwrap().to_owned()).collect();
        self.sent.lock().push(Arrived { chat: CHANNEL.to_owned(), text: content, buttons, file });
        Reply::Json(200, json!({ "id": id }))
    }
}

impl Double<Discord> {
    /// The commands that it shows, and how often they were set.
    pub(crate) fn menu(&self) -> (Value, usize) {
        self.vendor.menu.lock().clone()
    }

    /// Una chooses a command from the menu.
    pub(crate) fn choose(&self, id: u32, name: &str, words: &str) {
        let chosen = json!({
            "id": snowflake(id), "token": "tok", "type": 2, "channel_id": CHANNEL,
            "user": { "id": UNA, "username": "una" },
            "data": { "id": "1", "name": name, "type": 1,
                "options": [{ "name": "words", "type": 3, "value": words }] },
        });
        self.push(&self.vendor.event("INTERACTION_CREATE", &chosen));
    }

    /// What was answered to what she pressed and chose.
    pub(crate) fn answers(&self) -> Vec<Value> {
        self.vendor.presses.lock().clone()
    }
}

impl Side for Double<Discord> {
    fn name(&self) -> &'static str {
        "discord"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        // The first part of a token is the bot's number.
        vec![("DISCORD_BOT_TOKEN", "NDI.x.y".to_owned()), ("DISCORD_ALLOWED_USERS", UNA.to_owned())]
    }

    fn values(&self) -> String {
        json!({ "discord": { "base_url": format!("{}/api", self.url) } }).to_string()
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[]
    }

    fn chat(&self) -> &'static str {
        CHANNEL
    }

    fn write(&self, id: u32, text: &str) {
        let message = Discord::message(id, text, &json!([]));
        self.vendor.messages.lock().push(message.clone());
        self.push(&self.vendor.event("MESSAGE_CREATE", &message));
    }

    fn again(&self, id: u32) {
        let same = self.vendor.messages.lock()[usize::try_from(id).unwrap() - 1].clone();
        self.push(&self.vendor.event("MESSAGE_CREATE", &same));
    }

    fn press(&self, data: &str) {
        let press = json!({
            "id": "9001", "token": "tok", "type": 3, "channel_id": CHANNEL,
            "user": { "id": UNA, "username": "una" },
            "message": { "id": "1" }, "data": { "custom_id": data, "component_type": 2 },
        });
        self.push(&self.vendor.event("INTERACTION_CREATE", &press));
    }

    fn give_file(&self, id: u32, name: &str, _: &[u8]) {
        let url = format!("{}/cdn/{name}", self.url);
        let files =
            json!([{ "id": "1", "filename": name, "content_type": "text/plain", "url": url }]);
        let message = Discord::message(id, "", &files);
        self.vendor.messages.lock().push(message.clone());
        self.push(&self.vendor.event("MESSAGE_CREATE", &message));
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("DISCORD_BOT_TOKEN", "NDI.wrong".to_owned()))
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.vendor.sent.lock().clone()
    }

    fn edits(&self) -> usize {
        *self.vendor.edits.lock()
    }

    fn cut(&self) {
        Self::cut(self);
    }

    fn connections(&self) -> u64 {
        Self::connections(self)
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
