//! Feishu: sealed and signed events, cards, files, from the published event and card schema.

use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::iv::FixedLength;
use base64::Engine as _;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor, bring, free_port, now};
use crate::suite::{Arrived, Side, Step};

const KEY: &str = "seal-key";

pub(crate) struct Feishu {
    pub(crate) port: u16,
    sent: Mutex<Vec<Arrived>>,
    uuids: Mutex<Vec<String>>,
    said: Mutex<Vec<(u32, Value)>>,
    files: Mutex<Vec<(String, Vec<u8>)>>,
    edited: Mutex<usize>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<Feishu> {
    Double::new(|_| Feishu {
        port: free_port(),
        sent: Mutex::default(),
        uuids: Mutex::default(),
        said: Mutex::default(),
        files: Mutex::default(),
        edited: Mutex::default(),
        slow: Mutex::default(),
    })
    .await
}

/// The event as the server seals it.
fn sealed(event: &Value) -> Vec<u8> {
    let mut plain = event.to_string().into_bytes();
    let pad = 16 - plain.len() % 16;
    plain.extend(std::iter::repeat_n(u8::try_from(pad).unwrap(), pad));
    let key = digest(&SHA256, KEY.as_bytes());
    let key = EncryptingKey::cbc(UnboundCipherKey::new(&AES_256, key.as_ref()).unwrap()).unwrap();
    let iv = [7_u8; 16];
    key.less_safe_encrypt(&mut plain, EncryptionContext::Iv128(FixedLength::from(iv))).unwrap();
    let whole = [&iv[..], &plain].concat();
    let text = base64::engine::general_purpose::STANDARD.encode(whole);
    json!({ "encrypt": text }).to_string().into_bytes()
}

impl Feishu {
    fn bring(&self, id: u32, kind: &str, event: &Value) {
        let event = json!({
            "schema": "2.0", "event": event,
            "header": { "event_id": format!("ev{id}"), "event_type": kind, "token": "vtok", "app_id": "cli_1" },
        });
        self.said.lock().push((id, event.clone()));
        self.deliver(&event);
    }

    fn deliver(&self, event: &Value) {
        let body = sealed(event);
        let signed = digest(&SHA256, &[b"170", &b"n1"[..], KEY.as_bytes(), &body].concat());
        let signed: String =
            signed.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let head = format!(
            "POST /feishu/webhook HTTP/1.1\r\nX-Lark-Request-Timestamp: 170\r\nX-Lark-Request-Nonce: n1\r\nX-Lark-Signature: {signed}"
        );
        bring(self.port, head, body);
    }

    fn message(&self, id: u32, kind: &str, content: &Value) {
        self.bring(id, "im.message.receive_v1", &json!({
            "sender": { "sender_id": { "open_id": "ou_una" }, "sender_type": "user" },
            "message": {
                "message_id": format!("om_{id}"), "chat_id": "oc_una", "chat_type": "p2p",
                "message_type": kind, "content": content.to_string(), "create_time": (now() * 1000).to_string(),
            },
        }));
    }

    fn take(&self, body: &Value) -> Reply {
        if std::mem::take(&mut *self.slow.lock()) {
            return Reply::Json(
                400,
                json!({ "code": 230_020, "msg": "rate limited", "retry_after": 1 }),
            );
        }
        let uuid = body["uuid"].as_str().unwrap().to_owned();
        assert!(uuid.len() <= 50);
        let mut uuids = self.uuids.lock();
        if !uuids.contains(&uuid) {
            uuids.push(uuid);
            let content: Value = serde_json::from_str(body["content"].as_str().unwrap()).unwrap();
            let mut arrived = Arrived { chat: "oc_una".to_owned(), ..Arrived::default() };
            match body["msg_type"].as_str().unwrap() {
                "interactive" => {
                    content["elements"][0]["content"]
                        .as_str()
                        .unwrap()
                        .clone_into(&mut arrived.text);
                    let actions = content["elements"][1]["actions"].as_array();
                    let data = |it: &Value| it["value"]["petasos"].as_str().unwrap().to_owned();
                    arrived.buttons = actions.into_iter().flatten().map(data).collect();
                }
                "file" => arrived.file = content["file_key"].as_str().map(str::to_owned),
                _ => content["text"].as_str().unwrap().clone_into(&mut arrived.text),
            }
            self.sent.lock().push(arrived);
        }
        let id = format!("om_out{}", uuids.len());
        Reply::Json(200, json!({ "code": 0, "msg": "success", "data": { "message_id": id } }))
    }
}

impl Vendor for Feishu {
    fn call(&self, call: &Call) -> Reply {
        let path = call.path.trim_start_matches("/open-apis/");
        if path == "auth/v3/tenant_access_token/internal" {
            if call.json()["app_secret"] != "sec" {
                return Reply::Json(200, json!({ "code": 10014, "msg": "app secret invalid" }));
            }
            return Reply::Json(
                200,
                json!({ "code": 0, "msg": "ok", "tenant_access_token": "t-1", "expire": 7200 }),
            );
        }
        assert!(call.headers.contains("Bearer t-1"), "{}", call.headers);
        match (call.method.as_str(), path) {
            ("POST", "im/v1/messages?receive_id_type=chat_id") => {
                assert_eq!(call.json()["receive_id"], "oc_una");
                self.take(&call.json())
            }
            ("POST", "im/v1/files") => {
                let form = String::from_utf8_lossy(&call.body).into_owned();
                assert!(form.contains("out.txt"));
                Reply::Json(200, json!({ "code": 0, "data": { "file_key": "out.txt" } }))
            }
            ("PATCH", path) if path.starts_with("im/v1/messages/om_out") => {
                *self.edited.lock() += 1;
                Reply::Json(200, json!({ "code": 0, "data": {} }))
            }
            ("GET", path) if path.contains("/resources/") => {
                let key = path.split("/resources/").nth(1).unwrap().split('?').next().unwrap();
                let files = self.files.lock();
                Reply::Bytes(files.iter().find(|(known, _)| known == key).unwrap().1.clone())
            }
            _ => Reply::Json(200, json!({ "code": 0, "data": {} })),
        }
    }
}

impl Side for Double<Feishu> {
    fn name(&self) -> &'static str {
        "feishu"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("FEISHU_APP_ID", "cli_1".to_owned()),
            ("FEISHU_APP_SECRET", "sec".to_owned()),
            ("FEISHU_VERIFICATION_TOKEN", "vtok".to_owned()),
            ("FEISHU_ENCRYPT_KEY", KEY.to_owned()),
            ("FEISHU_WEBHOOK_PORT", self.vendor.port.to_string()),
            ("FEISHU_ALLOWED_USERS", "ou_una".to_owned()),
        ]
    }

    fn values(&self) -> String {
        json!({ "platforms": { "feishu": { "base_url": self.url } } }).to_string()
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[(Step::Reconnect, "the server calls us; there is no connection to cut")]
    }

    fn chat(&self) -> &'static str {
        "oc_una"
    }

    fn write(&self, id: u32, text: &str) {
        self.vendor.message(id, "text", &json!({ "text": text }));
    }

    fn again(&self, id: u32) {
        let event =
            self.vendor.said.lock().iter().find(|(known, _)| *known == id).unwrap().1.clone();
        self.vendor.deliver(&event);
    }

    fn press(&self, data: &str) {
        self.vendor.bring(
            99,
            "card.action.trigger",
            &json!({
                "operator": { "open_id": "ou_una" },
                "action": { "tag": "button", "value": { "petasos": data } },
                "context": { "open_message_id": "om_out1", "open_chat_id": "oc_una" },
            }),
        );
    }

    fn give_file(&self, id: u32, name: &str, bytes: &[u8]) {
        self.vendor.files.lock().push((format!("key{id}"), bytes.to_vec()));
        self.vendor.message(
            id,
            "file",
            &json!({ "file_key": format!("key{id}"), "file_name": name }),
        );
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.vendor.sent.lock().clone()
    }

    fn edits(&self) -> usize {
        *self.vendor.edited.lock()
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("FEISHU_APP_SECRET", "wrong".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
