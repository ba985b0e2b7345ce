//! BlueBubbles: webhooks, messages, attachments, from the published collection of calls.

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor, bring, free_port, now};
use crate::suite::{Arrived, Side, Step};

const CHAT: &str = "iMessage;-;+4915550001";

pub(crate) struct Blue {
    port: u16,
    hook: Mutex<String>,
    sent: Mutex<Vec<Arrived>>,
    said: Mutex<Vec<Value>>,
    files: Mutex<Vec<(String, Vec<u8>)>>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<Blue> {
    Double::new(|_| Blue {
        port: free_port(),
        hook: Mutex::default(),
        sent: Mutex::default(),
        said: Mutex::default(),
        files: Mutex::default(),
        slow: Mutex::default(),
    })
    .await
}

impl Blue {
    fn message(&self, id: u32, text: &str, attachments: &Value) {
        let message = json!({
            "guid": format!("g{id}"), "text": text, "isFromMe": false, "dateCreated": now() * 1000,
            "handle": { "address": "+4915550001" }, "chats": [{ "guid": CHAT, "displayName": "" }],
            "attachments": attachments,
        });
        self.said.lock().push(message.clone());
        self.deliver(&message);
    }

    fn deliver(&self, message: &Value) {
        let body = json!({ "type": "new-message", "data": message }).to_string().into_bytes();
        let hook = self.hook.lock().clone();
        let path =
            hook.split_once("//").and_then(|(_, rest)| rest.split_once('/')).unwrap().1.to_owned();
        assert!(path.starts_with("bluebubbles-webhook/") && path.len() > 50, "{path}");
        bring(self.port, format!("POST /{path} HTTP/1.1"), body);
    }

    fn took(&self, arrived: Arrived) -> Reply {
        if std::mem::take(&mut *self.slow.lock()) {
            return Reply::Json(429, json!({ "status": 429, "message": "slow", "retry_after": 1 }));
        }
        let mut sent = self.sent.lock();
        sent.push(arrived);
        Reply::Json(200, json!({ "status": 200, "data": { "guid": format!("o{}", sent.len()) } }))
    }
}

impl Vendor for Blue {
    fn call(&self, call: &Call) -> Reply {
        let Some(path) = call.path.strip_suffix("?password=pw") else {
            return Reply::Json(401, json!({ "status": 401, "message": "Unauthorized" }));
        };
        match (call.method.as_str(), path.trim_start_matches("/api/v1/")) {
            ("GET", "server/info") => {
                Reply::Json(200, json!({ "status": 200, "data": { "private_api": true } }))
            }
            ("GET", "webhook") => Reply::Json(200, json!({ "data": [] })),
            ("POST", "webhook") => {
                call.json()["url"].as_str().unwrap().clone_into(&mut self.hook.lock());
                Reply::Json(200, json!({ "data": {} }))
            }
            ("POST", "message/query") => Reply::Json(200, json!({ "data": *self.said.lock() })),
            ("POST", "message/text") => {
                let body = call.json();
                assert_eq!(body["method"], "private-api");
                assert!(!body["tempGuid"].as_str().unwrap().is_empty());
                let text = body["message"].as_str().unwrap().to_owned();
                let chat = body["chatGuid"].as_str().unwrap().to_owned();
                self.took(Arrived { chat, text, ..Arrived::default() })
            }
            ("POST", "message/attachment") => {
                let form = String::from_utf8_lossy(&call.body).into_owned();
                assert!(form.contains("out.txt"));
                let file = Some("out.txt".to_owned());
                self.took(Arrived { chat: CHAT.to_owned(), file, ..Arrived::default() })
            }
            ("GET", path) if path.starts_with("attachment/") => {
                let id = path.split('/').nth(1).unwrap();
                let files = self.files.lock();
                Reply::Bytes(files.iter().find(|(known, _)| known == id).unwrap().1.clone())
            }
            _ => Reply::Json(200, json!({ "status": 200, "data": {} })),
        }
    }
}

impl Side for Double<Blue> {
    fn name(&self) -> &'static str {
        "bluebubbles"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("BLUEBUBBLES_SERVER_URL", self.url.clone()),
            ("BLUEBUBBLES_PASSWORD", "pw".to_owned()),
            ("BLUEBUBBLES_WEBHOOK_PORT", self.vendor.port.to_string()),
            ("BLUEBUBBLES_ALLOWED_USERS", "+49 1555 0001".to_owned()),
        ]
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "iMessage has none"),
            (Step::Edit, "edits need a later macOS"),
            (Step::Reconnect, "the server calls us; there is no connection to cut"),
        ]
    }

    fn chat(&self) -> &'static str {
        CHAT
    }

    fn write(&self, id: u32, text: &str) {
        self.vendor.message(id, text, &json!([]));
    }

    fn again(&self, id: u32) {
        let wanted = json!(format!("g{id}"));
        let same = self.vendor.said.lock().iter().find(|it| it["guid"] == wanted).cloned();
        self.vendor.deliver(&same.unwrap());
    }

    fn give_file(&self, id: u32, name: &str, bytes: &[u8]) {
        self.vendor.files.lock().push((format!("a{id}"), bytes.to_vec()));
        let file =
            json!([{ "guid": format!("a{id}"), "mimeType": "text/plain", "transferName": name }]);
        self.vendor.message(id, "", &file);
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.vendor.sent.lock().clone()
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("BLUEBUBBLES_PASSWORD", "nope".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
