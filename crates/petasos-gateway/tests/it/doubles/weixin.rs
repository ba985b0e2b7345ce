//! WeChat by iLink: long polling as other programs were seen to do it; no reference is public.

use aws_lc_rs::cipher::{
    AES_128, DecryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey,
    UnboundCipherKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor, header, now};
use crate::suite::{Arrived, Side, Step};

#[derive(Default)]
pub(crate) struct ILink {
    /// Sealed files by the parameter that leads to them.
    files: Mutex<Vec<Vec<u8>>>,
    said: Mutex<Vec<Value>>,
    sent: Mutex<Vec<Arrived>>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<ILink> {
    Double::new(|_| ILink::default()).await
}

/// The plain file; the key is written as digits.
fn opened(digits: &[u8], sealed: &[u8]) -> Vec<u8> {
    let digits = std::str::from_utf8(digits).unwrap();
    let pair = |at: usize| digits.get(at * 2..at * 2 + 2).unwrap();
    let key: Vec<u8> = (0..16).map(|at| u8::from_str_radix(pair(at), 16).unwrap()).collect();
    let key = PaddedBlockDecryptingKey::ecb_pkcs7(UnboundCipherKey::new(&AES_128, &key).unwrap());
    let mut bytes = sealed.to_vec();
    key.unwrap().decrypt(&mut bytes, DecryptionContext::None).unwrap().to_vec()
}

impl Vendor for ILink {
    fn call(&self, call: &Call) -> Reply {
        if let Some(at) = call.path.strip_prefix("/c2c/download?encrypted_query_param=p") {
            return Reply::Bytes(self.files.lock()[at.parse::<usize>().unwrap()].clone());
        }
        if call.path.starts_with("/c2c/upload?encrypted_query_param=up&filekey=") {
            let mut files = self.files.lock();
            files.push(call.body.clone());
            let param = format!("p{}", files.len() - 1);
            return Reply::With(200, ("x-encrypted-param", param), json!({}));
        }
        assert_eq!(header(&call.headers, "authorizationtype"), Some("ilink_bot_token"));
        if !call.headers.contains("Bearer wx1") {
            return Reply::Json(200, json!({ "ret": -14, "errmsg": "session timeout" }));
        }
        let body = call.json();
        match call.path.as_str() {
            "/ilink/bot/getupdates" => {
                let from: usize = body["get_updates_buf"].as_str().unwrap().parse().unwrap_or(0);
                let said = self.said.lock();
                // The double answers at once; the pause keeps it from being asked without end.
                if said.len() <= from {
                    std::thread::sleep(std::time::Duration::from_millis(2));
                }
                let new = said.get(from..).unwrap_or_default();
                Reply::Json(
                    200,
                    json!({ "ret": 0, "msgs": new, "get_updates_buf": said.len().to_string() }),
                )
            }
            "/ilink/bot/sendmessage" => {
                if std::mem::take(&mut *self.slow.lock()) {
                    return Reply::Json(200, json!({ "ret": -2, "errmsg": "slow" }));
                }
                let message = &body["msg"];
                let item = &message["item_list"][0];
                if item["type"] == 4 {
                    let media = &item["file_item"]["media"];
                    let at = media["encrypt_query_param"].as_str().unwrap();
                    let at: usize = at.strip_prefix('p').unwrap().parse().unwrap();
                    let key = STANDARD.decode(media["aes_key"].as_str().unwrap()).unwrap();
                    let plain = opened(&key, &self.files.lock()[at]);
                    assert_eq!(item["file_item"]["len"], plain.len().to_string());
                    self.sent.lock().push(Arrived {
                        chat: message["to_user_id"].as_str().unwrap().to_owned(),
                        file: item["file_item"]["file_name"].as_str().map(str::to_owned),
                        ..Arrived::default()
                    });
                    return Reply::Json(200, json!({ "ret": 0 }));
                }
                assert!(message["context_token"].as_str().unwrap().starts_with("ctx"));
                let text =
                    message["item_list"][0]["text_item"]["text"].as_str().unwrap().to_owned();
                assert!(text.chars().count() <= 2000);
                let chat = message["to_user_id"].as_str().unwrap().to_owned();
                self.sent.lock().push(Arrived { chat, text, ..Arrived::default() });
                Reply::Json(200, json!({ "ret": 0 }))
            }
            "/ilink/bot/getuploadurl" => {
                assert_eq!(body["aeskey"].as_str().unwrap().len(), 32);
                assert_eq!(body["rawfilemd5"].as_str().unwrap().len(), 32);
                Reply::Json(200, json!({ "ret": 0, "upload_param": "up" }))
            }
            other => Reply::Json(404, json!({ "ret": -1, "errmsg": other })),
        }
    }
}

impl Side for Double<ILink> {
    fn name(&self) -> &'static str {
        "weixin"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("WEIXIN_ACCOUNT_ID", "bot".to_owned()),
            ("WEIXIN_TOKEN", "wx1".to_owned()),
            ("WEIXIN_BASE_URL", self.url.clone()),
            ("WEIXIN_CDN_BASE_URL", format!("{}/c2c", self.url)),
            ("WEIXIN_ALLOWED_USERS", "una".to_owned()),
        ]
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "WeChat has none"),
            (Step::Edit, "messages cannot be edited"),
            (Step::Reconnect, "every poll is a connection of its own"),
        ]
    }

    fn chat(&self) -> &'static str {
        "una"
    }

    fn write(&self, id: u32, text: &str) {
        self.vendor.said.lock().push(json!({
            "message_id": id, "from_user_id": "una", "to_user_id": "bot", "message_type": 1,
            "create_time_ms": now() * 1000, "context_token": format!("ctx{id}"),
            "item_list": [{ "type": 1, "text_item": { "text": text } }],
        }));
    }

    fn give_file(&self, id: u32, name: &str, bytes: &[u8]) {
        let key = [7_u8; 16];
        let mut sealed = bytes.to_vec();
        let seal =
            PaddedBlockEncryptingKey::ecb_pkcs7(UnboundCipherKey::new(&AES_128, &key).unwrap());
        seal.unwrap().encrypt(&mut sealed).unwrap();
        let at = {
            let mut files = self.vendor.files.lock();
            files.push(sealed);
            files.len() - 1
        };
        let media = json!({ "encrypt_query_param": format!("p{at}"), "encrypt_type": 1,
            "aes_key": STANDARD.encode(key) });
        self.vendor.said.lock().push(json!({
            "message_id": id, "from_user_id": "una", "to_user_id": "bot", "message_type": 1,
            "create_time_ms": now() * 1000, "context_token": format!("ctx{id}"),
            "item_list": [{ "type": 4, "file_item": { "media": media, "file_name": name } }],
        }));
    }

    fn again(&self, id: u32) {
        let same = self.vendor.said.lock().iter().find(|it| it["message_id"] == json!(id)).cloned();
        self.vendor.said.lock().push(same.unwrap());
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.vendor.sent.lock().clone()
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("WEIXIN_TOKEN", "wrong".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
