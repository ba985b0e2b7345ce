//! Mattermost: REST version 4 and its WebSocket, from the published description.

use std::collections::HashMap;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor, bring, free_port};
use crate::suite::{Arrived, Side, Step};

const UNA: &str = "unaunaunaunaunaunaunauna00";
const CHANNEL: &str = "channelchannelchannelchan0";
const BOT: &str = "botbotbotbotbotbotbotbot00";

#[derive(Default)]
pub(crate) struct Mattermost {
    posts: Mutex<Vec<Value>>,
    sent: Mutex<Vec<Arrived>>,
    pending: Mutex<HashMap<String, String>>,
    slow: Mutex<bool>,
    sequence: Mutex<u64>,
    edits: Mutex<usize>,
    /// Where it calls when a button is pressed, and what it was given for each.
    port: u16,
    contexts: Mutex<Vec<Value>>,
}

pub(crate) async fn new() -> Double<Mattermost> {
    Double::new(|_| Mattermost { port: free_port(), ..Mattermost::default() }).await
}

impl Mattermost {
    fn event(&self, kind: &str, data: &Value) -> String {
        let mut sequence = self.sequence.lock();
        let text =
            json!({ "event": kind, "data": data, "broadcast": {}, "seq": *sequence }).to_string();
        *sequence += 1;
        text
    }

    fn posted(&self, post: &Value) -> String {
        let data = json!({ "post": post.to_string(), "channel_type": "D", "sender_name": "@una", "channel_display_name": "una" });
        self.event("posted", &data)
    }
}

fn post(id: u32, text: &str, files: &Value) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    json!({
        "id": format!("post{id:022}"), "create_at": u64::try_from(now.as_millis()).unwrap(), "user_id": UNA,
        "channel_id": CHANNEL, "root_id": "", "message": text, "type": "", "props": {}, "file_ids": files,
    })
}

impl Vendor for Mattermost {
    fn call(&self, call: &Call) -> Reply {
        let path = call.path.split('?').next().unwrap();
        if path == "/api/v4/websocket" {
            return Reply::Socket;
        }
        if !call.headers.contains("Bearer mm-token") {
            return Reply::Json(
                401,
                json!({ "id": "api.context.session_expired.app_error", "message": "expired" }),
            );
        }
        match (call.method.as_str(), path) {
            ("GET", "/api/v4/users/me") => {
                Reply::Json(200, json!({ "id": BOT, "username": "bot" }))
            }
            ("GET", "/api/v4/channels/channelchannelchannelchan0") => {
                Reply::Json(200, json!({ "id": CHANNEL, "type": "D" }))
            }
            ("POST", "/api/v4/users/me/typing") => Reply::Json(200, json!({})),
            ("GET", "/api/v4/files/f1/info") => {
                Reply::Json(200, json!({ "id": "f1", "name": "in.txt", "mime_type": "text/plain" }))
            }
            ("GET", "/api/v4/files/f1") => Reply::Bytes(b"words inside".to_vec()),
            ("POST", "/api/v4/files") => {
                Reply::Json(201, json!({ "file_infos": [{ "id": "f2" }] }))
            }
            ("PUT", _) => {
                *self.edits.lock() += 1;
                Reply::Json(200, json!({}))
            }
            ("GET", _) if path.ends_with("/posts") => {
                let since: u64 = call.path.split("since=").nth(1).unwrap().parse().unwrap();
                let newer = |it: &&Value| it["create_at"].as_u64().unwrap() >= since;
                let posts = self.posts.lock();
                let found: serde_json::Map<String, Value> = posts
                    .iter()
                    .filter(newer)
                    .map(|it| (it["id"].as_str().unwrap().to_owned(), it.clone()))
                    .collect();
                Reply::Json(200, json!({ "order": [], "posts": found }))
            }
            ("POST", "/api/v4/posts") => {
                if std::mem::take(&mut *self.slow.lock()) {
                    return Reply::Json(429, json!({ "message": "limit", "retry_after": 1 }));
                }
                let body = call.json();
                let text = body["message"].as_str().unwrap().to_owned();
                let token = body["pending_post_id"].as_str().unwrap().to_owned();
                let mut pending = self.pending.lock();
                if let Some(id) = pending.get(&token) {
                    return Reply::Json(201, json!({ "id": id }));
                }
                let id = format!("sent{:022}", pending.len());
                pending.insert(token, id.clone());
                let file = body["file_ids"][0].as_str().map(|_| "out.txt".to_owned());
                let chat = body["channel_id"].as_str().unwrap().to_owned();
                let actions = body["props"]["attachments"][0]["actions"].as_array().cloned();
                let contexts = actions.unwrap_or_default().into_iter().map(|it| {
                    assert!(it["id"].as_str().unwrap().chars().all(|c| c.is_ascii_alphanumeric()));
                    it["integration"]["context"].clone()
                });
                let contexts: Vec<Value> = contexts.collect();
                let buttons =
                    contexts.iter().map(|it| it["data"].as_str().unwrap().to_owned()).collect();
                self.contexts.lock().extend(contexts);
                self.sent.lock().push(Arrived { chat, text, buttons, file });
                Reply::Json(201, json!({ "id": id }))
            }
            other => Reply::Json(404, json!({ "message": format!("{other:?}") })),
        }
    }

    fn hears(&self, frame: Option<&Value>) -> Vec<String> {
        let Some(frame) = frame else { return Vec::new() };
        match frame["action"].as_str() {
            Some("authentication_challenge") => {
                assert_eq!(frame["data"]["token"], "mm-token");
                *self.sequence.lock() = 0;
                let fine = json!({ "status": "OK", "seq_reply": 1 }).to_string();
                vec![fine, self.event("hello", &json!({ "server_version": "9" }))]
            }
            _ => vec![json!({ "status": "OK", "seq_reply": frame["seq"] }).to_string()],
        }
    }
}

impl Side for Double<Mattermost> {
    fn name(&self) -> &'static str {
        "mattermost"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("MATTERMOST_URL", self.url.clone()),
            ("MATTERMOST_TOKEN", "mm-token".to_owned()),
            ("MATTERMOST_ALLOWED_USERS", UNA.to_owned()),
            ("MATTERMOST_CALLBACK_URL", format!("http://127.0.0.1:{}/pressed", self.vendor.port)),
            ("MATTERMOST_WEBHOOK_PORT", self.vendor.port.to_string()),
        ]
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[]
    }

    fn chat(&self) -> &'static str {
        CHANNEL
    }

    fn write(&self, id: u32, text: &str) {
        let post = post(id, text, &json!([]));
        self.vendor.posts.lock().push(post.clone());
        self.push(&self.vendor.posted(&post));
    }

    fn again(&self, id: u32) {
        let same = self.vendor.posts.lock()[usize::try_from(id).unwrap() - 1].clone();
        self.push(&self.vendor.posted(&same));
    }

    fn press(&self, data: &str) {
        let contexts = self.vendor.contexts.lock().clone();
        let context = contexts.iter().find(|it| it["data"] == data);
        // Whoever knows only the data of a button has not pressed it.
        let context = context.cloned().unwrap_or_else(|| json!({ "data": data, "sign": "guess" }));
        let body = json!({ "user_id": UNA, "user_name": "una", "channel_id": CHANNEL,
            "post_id": "p", "trigger_id": format!("t-{data}"), "context": context });
        let head = "POST /pressed HTTP/1.1\r\nContent-Type: application/json".to_owned();
        bring(self.vendor.port, head, body.to_string().into_bytes());
    }

    fn edits(&self) -> usize {
        *self.vendor.edits.lock()
    }

    fn give_file(&self, id: u32, _: &str, _: &[u8]) {
        let post = post(id, "", &json!(["f1"]));
        self.vendor.posts.lock().push(post.clone());
        self.push(&self.vendor.posted(&post));
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("MATTERMOST_TOKEN", "other".to_owned()))
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.vendor.sent.lock().clone()
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
