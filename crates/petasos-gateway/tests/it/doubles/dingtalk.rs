//! DingTalk: the stream with its tickets and acknowledgements, from the published stream protocol.

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor, now};
use crate::suite::{Arrived, Side, Step};

pub(crate) struct DingTalk {
    url: String,
    sent: Mutex<Vec<Arrived>>,
    said: Mutex<Vec<(u32, String)>>,
    /// What was delivered and not acknowledged comes again on the next connection.
    open: Mutex<Vec<(String, String)>>,
    files: Mutex<Vec<Vec<u8>>>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<DingTalk> {
    Double::new(|url| DingTalk {
        url: url.to_owned(),
        sent: Mutex::default(),
        said: Mutex::default(),
        open: Mutex::default(),
        files: Mutex::default(),
        slow: Mutex::default(),
    })
    .await
}

impl DingTalk {
    fn frame(&self, id: u32, kind: &str, content: &Value) -> String {
        let mut data = json!({
            "conversationId": "cidX", "conversationType": "1", "msgId": format!("msg{id}"),
            "senderId": "$:LWCP", "senderStaffId": "una", "senderNick": "Una", "msgtype": kind,
            "createAt": now() * 1000, "sessionWebhook": format!("{}/robot/sendBySession?session=1", self.url),
            "sessionWebhookExpiredTime": (now() + 5400) * 1000, "robotCode": "ding1",
        });
        data[if kind == "text" { "text" } else { "content" }] = content.clone();
        json!({
            "specVersion": "1.0", "type": "CALLBACK", "data": data.to_string(),
            "headers": { "topic": "/v1.0/im/bot/messages/get", "messageId": format!("f{id}"), "contentType": "application/json", "time": "1" },
        })
        .to_string()
    }
}

impl Vendor for DingTalk {
    fn call(&self, call: &Call) -> Reply {
        match call.path.as_str() {
            "/v1.0/gateway/connections/open" => {
                if call.json()["clientSecret"] != "sec" {
                    return Reply::Json(
                        401,
                        json!({ "code": "authFailed", "message": "bad secret" }),
                    );
                }
                assert_eq!(call.json()["subscriptions"][0]["topic"], "/v1.0/im/bot/messages/get");
                Reply::Json(
                    200,
                    json!({ "endpoint": format!("{}/connect", self.url), "ticket": "t 1" }),
                )
            }
            path if path.starts_with("/connect?ticket=t%201") => Reply::Socket,
            "/robot/sendBySession?session=1" => {
                if std::mem::take(&mut *self.slow.lock()) {
                    return Reply::Json(429, json!({ "message": "slow", "retry_after": 1 }));
                }
                let body = call.json();
                assert_eq!(body["msgtype"], "markdown");
                let text = body["markdown"]["text"].as_str().unwrap().to_owned();
                self.sent.lock().push(Arrived {
                    chat: "person.una".to_owned(),
                    text,
                    ..Arrived::default()
                });
                Reply::Json(200, json!({ "errcode": 0, "errmsg": "ok" }))
            }
            "/v1.0/oauth2/accessToken" => {
                Reply::Json(200, json!({ "accessToken": "at", "expireIn": 7200 }))
            }
            "/v1.0/robot/messageFiles/download" => {
                assert!(call.headers.to_lowercase().contains("x-acs-dingtalk-access-token: at"));
                let at = call.json()["downloadCode"].as_str().unwrap().to_owned();
                Reply::Json(200, json!({ "downloadUrl": format!("{}/file/{at}", self.url) }))
            }
            path if path.starts_with("/file/") => {
                let at: usize = path.trim_start_matches("/file/").parse().unwrap();
                Reply::Bytes(self.files.lock()[at].clone())
            }
            // The older interface: the token in the address, the file in a form.
            "/media/upload?access_token=at&type=file" => {
                let form = String::from_utf8_lossy(&call.body).into_owned();
                assert!(form.contains("name=\"media\"; filename=\"out.txt\""), "{form}");
                Reply::Json(200, json!({ "errcode": 0, "errmsg": "ok", "media_id": "@m1" }))
            }
            "/v1.0/robot/oToMessages/batchSend" => {
                let body = call.json();
                assert_eq!(
                    (&body["msgKey"], &body["userIds"][0]),
                    (&json!("sampleFile"), &json!("una"))
                );
                let param: Value =
                    serde_json::from_str(body["msgParam"].as_str().unwrap()).unwrap();
                assert_eq!((&param["mediaId"], &param["fileType"]), (&json!("@m1"), &json!("txt")));
                let file = param["fileName"].as_str().map(str::to_owned);
                let chat = "person.una".to_owned();
                self.sent.lock().push(Arrived { chat, file, ..Arrived::default() });
                Reply::Json(200, json!({ "processQueryKey": "q1" }))
            }
            other => Reply::Json(404, json!({ "message": other })),
        }
    }

    fn hears(&self, frame: Option<&Value>) -> Vec<String> {
        let Some(frame) = frame else {
            let ping = json!({ "type": "SYSTEM", "headers": { "topic": "ping", "messageId": "p" }, "data": "{}" });
            let open = self.open.lock().iter().map(|(_, text)| text.clone()).collect::<Vec<_>>();
            return std::iter::once(ping.to_string()).chain(open).collect();
        };
        assert_eq!(frame["code"], 200);
        let id = frame["headers"]["messageId"].as_str().unwrap();
        self.open.lock().retain(|(known, _)| known != id);
        Vec::new()
    }
}

impl Double<DingTalk> {
    fn deliver(&self, id: u32, frame: &str) {
        self.vendor.said.lock().push((id, frame.to_owned()));
        self.vendor.open.lock().push((format!("f{id}"), frame.to_owned()));
        self.push(frame);
    }
}

impl Side for Double<DingTalk> {
    fn name(&self) -> &'static str {
        "dingtalk"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("DINGTALK_CLIENT_ID", "ding1".to_owned()),
            ("DINGTALK_CLIENT_SECRET", "sec".to_owned()),
            ("DINGTALK_ALLOWED_USERS", "una".to_owned()),
        ]
    }

    fn values(&self) -> String {
        json!({ "platforms": { "dingtalk": { "base_url": self.url, "oapi_url": self.url } } })
            .to_string()
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "buttons need a card template of the tenant"),
            (Step::Edit, "messages cannot be edited"),
        ]
    }

    fn chat(&self) -> &'static str {
        "person.una"
    }

    fn write(&self, id: u32, text: &str) {
        let frame = self.vendor.frame(id, "text", &json!({ "content": text }));
        self.deliver(id, &frame);
    }

    fn again(&self, id: u32) {
        let frame =
            self.vendor.said.lock().iter().find(|(known, _)| *known == id).unwrap().1.clone();
        self.push(&frame);
    }

    fn give_file(&self, id: u32, name: &str, bytes: &[u8]) {
        let at = {
            let mut files = self.vendor.files.lock();
            files.push(bytes.to_vec());
            files.len() - 1
        };
        let content = json!({ "downloadCode": at.to_string(), "fileName": name });
        let frame = self.vendor.frame(id, "file", &content);
        self.deliver(id, &frame);
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
        Some(("DINGTALK_CLIENT_SECRET", "wrong".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
