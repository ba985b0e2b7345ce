//! QQ's bots: the gateway and the messages of people, from the published bot interface.

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor};
use crate::suite::{Arrived, Side, Step};

pub(crate) struct Qq {
    url: String,
    sent: Mutex<Vec<Arrived>>,
    numbers: Mutex<Vec<(String, u64)>>,
    said: Mutex<Vec<Value>>,
    files: Mutex<Vec<Vec<u8>>>,
    slow: Mutex<bool>,
    pub(crate) resumed: Mutex<u32>,
    pub(crate) confirmed: Mutex<u32>,
}

pub(crate) async fn new() -> Double<Qq> {
    Double::new(|url| Qq {
        url: url.to_owned(),
        sent: Mutex::default(),
        numbers: Mutex::default(),
        said: Mutex::default(),
        files: Mutex::default(),
        slow: Mutex::default(),
        resumed: Mutex::default(),
        confirmed: Mutex::default(),
    })
    .await
}

impl Qq {
    fn dispatch(&self, kind: &str, data: &Value) -> String {
        let mut said = self.said.lock();
        let frame = json!({ "op": 0, "s": said.len() + 2, "t": kind, "d": data });
        said.push(frame.clone());
        frame.to_string()
    }

    fn message(&self, body: &Value) -> Reply {
        if std::mem::take(&mut *self.slow.lock()) {
            return Reply::Json(
                429,
                json!({ "code": 22_010, "message": "too fast", "retry_after": 1 }),
            );
        }
        let answered = body["msg_id"].as_str().unwrap_or_default().to_owned();
        let number = body["msg_seq"].as_u64().unwrap();
        assert!(!answered.is_empty() && number > 0);
        let mut numbers = self.numbers.lock();
        if numbers.contains(&(answered.clone(), number)) {
            return Reply::Json(400, json!({ "code": 40_054_005, "message": "repeated" }));
        }
        numbers.push((answered, number));
        let text = body["markdown"]["content"].as_str().or_else(|| body["content"].as_str());
        let text = text.unwrap_or_default().to_owned();
        assert!(text.chars().count() <= 4000);
        let rows = body["keyboard"]["content"]["rows"].as_array().cloned().unwrap_or_default();
        let data = |it: &Value| it["buttons"][0]["action"]["data"].as_str().unwrap().to_owned();
        let file = body["media"]["file_info"].as_str().map(str::to_owned);
        self.sent.lock().push(Arrived {
            chat: "UNA".to_owned(),
            text,
            buttons: rows.iter().map(data).collect(),
            file,
        });
        Reply::Json(200, json!({ "id": format!("out{}", numbers.len()), "timestamp": 1 }))
    }
}

impl Vendor for Qq {
    fn call(&self, call: &Call) -> Reply {
        if call.path == "/app/getAppAccessToken" {
            if call.json()["clientSecret"] != "sec" {
                return Reply::Json(200, json!({ "code": 100_007, "message": "appid invalid" }));
            }
            return Reply::Json(200, json!({ "access_token": "at", "expires_in": "7200" }));
        }
        if call.path == "/ws" {
            return Reply::Socket;
        }
        if let Some(at) = call.path.strip_prefix("/file/") {
            return Reply::Bytes(self.files.lock()[at.parse::<usize>().unwrap()].clone());
        }
        assert!(call.headers.contains("QQBot at"), "{}", call.headers);
        match call.path.as_str() {
            "/gateway" => Reply::Json(200, json!({ "url": format!("{}/ws", self.url) })),
            "/v2/users/UNA/messages" => self.message(&call.json()),
            "/v2/users/UNA/files" => {
                assert!(call.json()["file_data"].as_str().is_some());
                Reply::Json(200, json!({ "file_info": call.json()["file_name"], "ttl": 1 }))
            }
            path if path.starts_with("/interactions/") => {
                *self.confirmed.lock() += 1;
                Reply::Json(200, json!({}))
            }
            other => Reply::Json(404, json!({ "message": other })),
        }
    }

    fn hears(&self, frame: Option<&Value>) -> Vec<String> {
        let Some(frame) = frame else {
            return vec![json!({ "op": 10, "d": { "heartbeat_interval": 41_000 } }).to_string()];
        };
        match frame["op"].as_i64() {
            Some(2) => {
                assert_eq!(frame["d"]["token"], "QQBot at");
                let ready = json!({ "op": 0, "s": 1, "t": "READY", "d": { "version": 1, "session_id": "s1", "user": { "id": "b", "bot": true }, "shard": [0, 1] } });
                vec![ready.to_string()]
            }
            Some(6) => {
                *self.resumed.lock() += 1;
                let seen = frame["d"]["seq"].as_i64().unwrap();
                let said = self.said.lock();
                let missed = said.iter().filter(|it| it["s"].as_i64() > Some(seen));
                let missed: Vec<String> = missed.map(ToString::to_string).collect();
                let resumed = json!({ "op": 0, "s": seen, "t": "RESUMED", "d": "" }).to_string();
                missed.into_iter().chain([resumed]).collect()
            }
            Some(1) => vec![json!({ "op": 11 }).to_string()],
            _ => Vec::new(),
        }
    }
}

impl Side for Double<Qq> {
    fn name(&self) -> &'static str {
        "qqbot"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("QQ_APP_ID", "102".to_owned()),
            ("QQ_CLIENT_SECRET", "sec".to_owned()),
            ("QQ_ALLOWED_USERS", "UNA".to_owned()),
        ]
    }

    fn values(&self) -> String {
        json!({ "platforms": { "qqbot": { "base_url": self.url, "login_url": self.url } } })
            .to_string()
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[(Step::Edit, "messages cannot be edited")]
    }

    fn chat(&self) -> &'static str {
        "UNA"
    }

    fn write(&self, id: u32, text: &str) {
        let frame = self.vendor.dispatch(
            "C2C_MESSAGE_CREATE",
            &json!({
                "id": format!("in{id}"), "content": text, "timestamp": "2026-11-18T02:00:00+08:00",
                "author": { "user_openid": "UNA" },
            }),
        );
        self.push(&frame);
    }

    fn again(&self, id: u32) {
        let wanted = json!(format!("in{id}"));
        let same = self.vendor.said.lock().iter().find(|it| it["d"]["id"] == wanted).cloned();
        self.push(&same.unwrap().to_string());
    }

    fn press(&self, data: &str) {
        let frame = self.vendor.dispatch(
            "INTERACTION_CREATE",
            &json!({
                "id": "press1", "chat_type": 2, "user_openid": "UNA",
                "data": { "resolved": { "button_data": data, "button_id": "0" }, "type": 11 },
            }),
        );
        self.push(&frame);
    }

    fn give_file(&self, id: u32, name: &str, bytes: &[u8]) {
        let at = {
            let mut files = self.vendor.files.lock();
            files.push(bytes.to_vec());
            files.len() - 1
        };
        let frame = self.vendor.dispatch("C2C_MESSAGE_CREATE", &json!({
            "id": format!("in{id}"), "content": "", "author": { "user_openid": "UNA" },
            "attachments": [{ "url": format!("{}/file/{at}", self.url), "content_type": "file", "filename": name }],
        }));
        self.push(&frame);
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

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("QQ_CLIENT_SECRET", "wrong".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
