//! Slack: the Web API and Socket Mode, from the published reference.

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor};
use crate::suite::{Arrived, Side, Step};

const UNA: &str = "U00001";
const CHANNEL: &str = "D00001";

pub(crate) struct Slack {
    url: String,
    events: Mutex<Vec<Value>>,
    /// Envelopes that nobody confirmed are brought again with the next connection.
    open: Mutex<Vec<(String, String)>>,
    sent: Mutex<Vec<Arrived>>,
    edits: Mutex<usize>,
    slow: Mutex<bool>,
    envelopes: Mutex<u32>,
}

pub(crate) async fn new() -> Double<Slack> {
    Double::new(|url| Slack {
        url: url.to_owned(),
        events: Mutex::default(),
        open: Mutex::default(),
        sent: Mutex::default(),
        edits: Mutex::default(),
        slow: Mutex::default(),
        envelopes: Mutex::default(),
    })
    .await
}

impl Slack {
    /// How many envelopes nobody has confirmed.
    pub(crate) fn unconfirmed(&self) -> usize {
        self.open.lock().len()
    }

    /// A message in a thread of a channel, as Slack brings it once more after nobody confirmed it.
    pub(crate) fn retried(&self, id: u32, text: &str) -> String {
        let mut event = event(id, text, &json!([]));
        event["event"]["channel"] = json!("C00001");
        event["event"]["channel_type"] = json!("channel");
        event["event"]["thread_ts"] = json!("16.000001");
        let text = self.envelope("events_api", &event);
        let mut frame: Value = serde_json::from_str(&text).unwrap();
        frame["retry_attempt"] = json!(1);
        frame["retry_reason"] = json!("timeout");
        frame.to_string()
    }

    /// A file alone, at this address.
    pub(crate) fn with_file(&self, id: u32, url: &str) -> String {
        let files = json!([{
            "id": "F8", "name": "huge.bin", "mimetype": "application/octet-stream",
            "url_private_download": url,
        }]);
        let mut event = event(id, "", &files);
        event["event"]["subtype"] = json!("file_share");
        self.envelope("events_api", &event)
    }

    fn envelope(&self, kind: &str, payload: &Value) -> String {
        let mut count = self.envelopes.lock();
        *count += 1;
        let id = format!("e{count}");
        let text = json!({ "type": kind, "envelope_id": id, "payload": payload, "accepts_response_payload": false }).to_string();
        self.open.lock().push((id, text.clone()));
        text
    }

    fn posted(&self, body: &Value) -> Reply {
        if std::mem::take(&mut *self.slow.lock()) {
            return Reply::Json(
                429,
                json!({ "ok": false, "error": "ratelimited", "retry_after": 1 }),
            );
        }
        let blocks = body["blocks"].as_array().cloned().unwrap_or_default();
        let mark = blocks.iter().find(|it| it["type"] == "markdown");
        let text = mark.map_or(&body["text"], |it| &it["text"]).as_str().unwrap().to_owned();
        if text.chars().count() > 12_000 {
            return Reply::Json(200, json!({ "ok": false, "error": "msg_blocks_too_long" }));
        }
        let buttons = blocks.iter().filter(|it| it["type"] == "actions");
        let buttons = buttons.flat_map(|it| it["elements"].as_array().unwrap().clone());
        let buttons = buttons.map(|it| it["value"].as_str().unwrap().to_owned()).collect();
        let chat = body["channel"].as_str().unwrap().to_owned();
        let mut sent = self.sent.lock();
        sent.push(Arrived { chat, text, buttons, file: None });
        Reply::Json(200, json!({ "ok": true, "ts": format!("17.{:06}", sent.len()) }))
    }
}

fn event(id: u32, text: &str, files: &Value) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    json!({ "event_id": format!("Ev{id}"), "event": {
        "type": "message", "channel": CHANNEL, "channel_type": "im", "user": UNA,
        "text": text, "ts": format!("{now}.{id:06}"), "files": files,
    }})
}

impl Vendor for Slack {
    fn call(&self, call: &Call) -> Reply {
        let path = call.path.split('?').next().unwrap();
        let body = call.json();
        match path {
            "/socket" => Reply::Socket,
            "/files/in.txt" => {
                assert!(call.headers.contains("xoxb-1"), "{}", call.headers);
                Reply::Bytes(b"words inside".to_vec())
            }
            "/upload" => Reply::Json(200, json!({})),
            "/api/apps.connections.open" => {
                assert!(call.headers.contains("xapp-1"));
                Reply::Json(
                    200,
                    json!({ "ok": true, "url": format!("{}/socket", self.url.replace("http:", "ws:")) }),
                )
            }
            "/api/auth.test" if !call.headers.contains("xoxb-1") => {
                Reply::Json(200, json!({ "ok": false, "error": "invalid_auth" }))
            }
            "/api/auth.test" => Reply::Json(
                200,
                json!({ "ok": true, "user_id": "UBOT01", "bot_id": "B01", "user": "bot", "team_id": "T1" }),
            ),
            "/api/chat.postMessage" => self.posted(&body),
            "/api/chat.update" => {
                *self.edits.lock() += 1;
                Reply::Json(200, json!({ "ok": true }))
            }
            "/api/chat.postEphemeral" => Reply::Json(200, json!({ "ok": true })),
            "/api/files.getUploadURLExternal" => {
                assert!(call.path.contains("filename=out.txt"));
                Reply::Json(
                    200,
                    json!({ "ok": true, "upload_url": format!("{}/upload", self.url), "file_id": "F1" }),
                )
            }
            "/api/files.completeUploadExternal" => {
                let file = Some("out.txt".to_owned());
                self.sent.lock().push(Arrived {
                    chat: CHANNEL.to_owned(),
                    file,
                    ..Arrived::default()
                });
                Reply::Json(200, json!({ "ok": true }))
            }
            other => {
                Reply::Json(200, json!({ "ok": false, "error": "unknown_method", "path": other }))
            }
        }
    }

    fn hears(&self, frame: Option<&Value>) -> Vec<String> {
        let Some(frame) = frame else {
            let hello = json!({ "type": "hello", "num_connections": 1 }).to_string();
            let waiting = self.open.lock().clone();
            return std::iter::once(hello).chain(waiting.into_iter().map(|(_, it)| it)).collect();
        };
        let id = frame["envelope_id"].as_str().unwrap_or_default();
        self.open.lock().retain(|(open, _)| open != id);
        Vec::new()
    }
}

impl Side for Double<Slack> {
    fn name(&self) -> &'static str {
        "slack"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("SLACK_BOT_TOKEN", "xoxb-1".to_owned()),
            ("SLACK_APP_TOKEN", "xapp-1".to_owned()),
            ("SLACK_ALLOWED_USERS", UNA.to_owned()),
        ]
    }

    fn values(&self) -> String {
        json!({ "slack": { "base_url": format!("{}/api", self.url), "files_url": self.url } })
            .to_string()
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[]
    }

    fn chat(&self) -> &'static str {
        CHANNEL
    }

    fn write(&self, id: u32, text: &str) {
        let event = event(id, text, &json!([]));
        self.vendor.events.lock().push(event.clone());
        self.push(&self.vendor.envelope("events_api", &event));
    }

    /// As Slack does: the mention of the same text, and the message once more.
    fn again(&self, id: u32) {
        let mut same = self.vendor.events.lock()[usize::try_from(id).unwrap() - 1].clone();
        self.push(&self.vendor.envelope("events_api", &same));
        same["event"]["type"] = json!("app_mention");
        same["event_id"] = json!("Ev-other");
        self.push(&self.vendor.envelope("events_api", &same));
    }

    fn press(&self, data: &str) {
        let payload = json!({
            "type": "block_actions", "user": { "id": UNA, "username": "una" }, "channel": { "id": CHANNEL },
            "message": { "ts": "17.000001" }, "actions": [{ "action_id": data, "value": data, "action_ts": "1.1" }],
        });
        self.push(&self.vendor.envelope("interactive", &payload));
    }

    fn give_file(&self, id: u32, name: &str, _: &[u8]) {
        let url = format!("{}/files/{name}", self.url);
        let files = json!([{ "id": "F9", "name": name, "mimetype": "text/plain", "url_private_download": url }]);
        let mut event = event(id, "", &files);
        event["event"]["subtype"] = json!("file_share");
        self.vendor.events.lock().push(event.clone());
        self.push(&self.vendor.envelope("events_api", &event));
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("SLACK_BOT_TOKEN", "xoxb-wrong".to_owned()))
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
