//! The bridge's local protocol, from its own source: messages are given once, and what is sent goes
//! to a phone that may not be there.

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor};
use crate::suite::{Arrived, Side, Step};

const CHAT: &str = "491700000001@s.whatsapp.net";

#[derive(Default)]
pub(crate) struct Bridge {
    waiting: Mutex<Vec<Value>>,
    said: Mutex<Vec<Value>>,
    sent: Mutex<Vec<Arrived>>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<Bridge> {
    Double::new(|_| Bridge::default()).await
}

fn event(id: u32, text: &str, file: Option<(&str, &str)>) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let (name, path) = file.unzip();
    json!({
        "messageId": format!("3EB0{id:04}"), "chatId": CHAT, "senderId": "491700000001:3@s.whatsapp.net",
        "senderName": "Una", "chatName": "Una", "isGroup": false, "body": text,
        "hasMedia": file.is_some(), "mediaType": if file.is_some() { "document" } else { "" },
        "mime": if file.is_some() { "text/plain" } else { "" }, "fileName": name.unwrap_or_default(),
        "mediaUrls": path.into_iter().collect::<Vec<_>>(), "mentionedIds": [], "quotedText": "",
        "quotedParticipant": "", "botIds": ["491700000000@s.whatsapp.net"], "fromOwner": false,
        "timestamp": now.as_secs(),
    })
}

impl Vendor for Bridge {
    fn call(&self, call: &Call) -> Reply {
        let body = call.json();
        let chat = || body["chatId"].as_str().unwrap().to_owned();
        match call.path.as_str() {
            "/health" => Reply::Json(200, json!({ "status": "connected", "queueLength": 0 })),
            "/messages" => {
                Reply::Json(200, Value::Array(std::mem::take(&mut *self.waiting.lock())))
            }
            "/send" => {
                if std::mem::take(&mut *self.slow.lock()) {
                    return Reply::Json(503, json!({ "error": "Not connected to WhatsApp" }));
                }
                let mut sent = self.sent.lock();
                let text = body["message"].as_str().unwrap().to_owned();
                sent.push(Arrived { chat: chat(), text, ..Arrived::default() });
                Reply::Json(
                    200,
                    json!({ "success": true, "messageId": format!("S{}", sent.len()) }),
                )
            }
            "/send-media" => {
                assert!(std::path::Path::new(body["filePath"].as_str().unwrap()).is_file());
                let file = body["fileName"].as_str().map(str::to_owned);
                self.sent.lock().push(Arrived { chat: chat(), file, ..Arrived::default() });
                Reply::Json(200, json!({ "success": true, "messageId": "F1" }))
            }
            _ => Reply::Json(200, json!({ "success": true })),
        }
    }
}

impl Double<Bridge> {
    fn give(&self, event: Value) {
        self.vendor.said.lock().push(event.clone());
        self.vendor.waiting.lock().push(event);
    }
}

impl Side for Double<Bridge> {
    fn name(&self) -> &'static str {
        "whatsapp"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("WHATSAPP_ENABLED", "true".to_owned()),
            ("WHATSAPP_ALLOWED_USERS", "+49 170 0000001".to_owned()),
        ]
    }

    fn values(&self) -> String {
        let port: u16 = self.url.rsplit(':').next().unwrap().parse().unwrap();
        json!({ "platforms": { "whatsapp": { "bridge_port": port } } }).to_string()
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "the bridge has none"),
            (Step::Edit, "text cards are not redrawn"),
            (Step::Reconnect, "every poll is a call of its own"),
        ]
    }

    fn chat(&self) -> &'static str {
        CHAT
    }

    fn write(&self, id: u32, text: &str) {
        self.give(event(id, text, None));
    }

    fn again(&self, id: u32) {
        let name = format!("3EB0{id:04}");
        let same = self.vendor.said.lock().iter().find(|it| it["messageId"] == name).cloned();
        self.vendor.waiting.lock().push(same.unwrap());
    }

    fn give_file(&self, id: u32, name: &str, bytes: &[u8]) {
        // The bridge lays files down beside itself.
        let path = std::env::temp_dir().join(format!("whatsapp-{}-{id}", std::process::id()));
        std::io::Write::write_all(&mut std::fs::File::create(&path).unwrap(), bytes).unwrap();
        self.give(event(id, "", Some((name, path.to_str().unwrap()))));
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.vendor.sent.lock().clone()
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
