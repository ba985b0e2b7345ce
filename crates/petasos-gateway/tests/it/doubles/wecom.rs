//! WeCom's bots: the long connection with its named frames, from the published protocol.

use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use base64::Engine as _;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor};
use crate::suite::{Arrived, Side, Step};

pub(crate) struct WeCom {
    url: String,
    sent: Mutex<Vec<Arrived>>,
    said: Mutex<Vec<(u32, String)>>,
    files: Mutex<Vec<Vec<u8>>>,
    /// What is being put: what was said of it, and its pieces so far.
    put: Mutex<(Value, Vec<u8>)>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<WeCom> {
    Double::new(|url| WeCom {
        url: url.to_owned(),
        sent: Mutex::default(),
        said: Mutex::default(),
        files: Mutex::default(),
        put: Mutex::default(),
        slow: Mutex::default(),
    })
    .await
}

impl Vendor for WeCom {
    fn call(&self, call: &Call) -> Reply {
        match call.path.strip_prefix("/file/") {
            Some(at) => Reply::Bytes(self.files.lock()[at.parse::<usize>().unwrap()].clone()),
            None => Reply::Socket,
        }
    }

    fn hears(&self, frame: Option<&Value>) -> Vec<String> {
        let Some(frame) = frame else { return Vec::new() };
        let body = &frame["body"];
        let told = |code: i64| {
            let told = json!({ "headers": frame["headers"], "errcode": code, "errmsg": if code == 0 { "ok" } else { "no" } });
            vec![told.to_string()]
        };
        let with = |body: &Value| {
            let told =
                json!({ "headers": frame["headers"], "errcode": 0, "errmsg": "ok", "body": body });
            vec![told.to_string()]
        };
        match frame["cmd"].as_str().unwrap() {
            "aibot_subscribe" => told(if body["secret"] == "sec" { 0 } else { 40_001 }),
            "aibot_send_msg" => {
                if std::mem::take(&mut *self.slow.lock()) {
                    return told(846_604);
                }
                if body["msgtype"] == "file" {
                    assert_eq!(body["file"]["media_id"], "media-1");
                    let name = self.put.lock().0["filename"].as_str().map(str::to_owned);
                    self.sent.lock().push(Arrived {
                        chat: body["chatid"].as_str().unwrap().to_owned(),
                        file: name,
                        ..Arrived::default()
                    });
                    return told(0);
                }
                let card = &body["template_card"];
                let text = body["markdown"]["content"]
                    .as_str()
                    .or_else(|| card["sub_title_text"].as_str());
                let buttons = card["button_list"].as_array().cloned().unwrap_or_default();
                self.sent.lock().push(Arrived {
                    chat: body["chatid"].as_str().unwrap().to_owned(),
                    text: text.unwrap().to_owned(),
                    buttons: buttons
                        .iter()
                        .map(|it| it["key"].as_str().unwrap().to_owned())
                        .collect(),
                    file: None,
                });
                told(0)
            }
            "aibot_upload_media_init" => {
                *self.put.lock() = (body.clone(), Vec::new());
                with(&json!({ "upload_id": "upload-1" }))
            }
            "aibot_upload_media_chunk" => {
                assert_eq!(body["upload_id"], "upload-1");
                let data = body["base64_data"].as_str().unwrap();
                let piece = base64::engine::general_purpose::STANDARD.decode(data).unwrap();
                self.put.lock().1.extend(piece);
                told(0)
            }
            "aibot_upload_media_finish" => {
                let put = self.put.lock();
                assert_eq!(put.0["total_size"], put.1.len());
                with(&json!({ "media_id": "media-1" }))
            }
            _ => told(0),
        }
    }
}

impl Double<WeCom> {
    fn message(&self, id: u32, kind: &str, content: &Value) {
        let mut frame = json!({
            "cmd": "aibot_msg_callback", "headers": { "req_id": format!("r{id}") },
            "body": {
                "msgid": format!("m{id}"), "aibotid": "bot", "chattype": "single",
                "from": { "userid": "una" }, "msgtype": kind,
            },
        });
        frame["body"][kind] = content.clone();
        self.vendor.said.lock().push((id, frame.to_string()));
        self.push(&frame.to_string());
    }
}

impl Side for Double<WeCom> {
    fn name(&self) -> &'static str {
        "wecom"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("WECOM_BOT_ID", "bot".to_owned()),
            ("WECOM_SECRET", "sec".to_owned()),
            ("WECOM_WEBSOCKET_URL", self.url.replace("http://", "ws://")),
            ("WECOM_ALLOWED_USERS", "una".to_owned()),
        ]
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Edit, "the card's own answer is not spoken yet"),
            (Step::CatchUp, "the server keeps nothing for a bot that is away"),
        ]
    }

    fn chat(&self) -> &'static str {
        "una"
    }

    fn write(&self, id: u32, text: &str) {
        self.message(id, "text", &json!({ "content": text }));
    }

    fn again(&self, id: u32) {
        let frame =
            self.vendor.said.lock().iter().find(|(known, _)| *known == id).unwrap().1.clone();
        self.push(&frame);
    }

    fn press(&self, data: &str) {
        let frame = json!({
            "cmd": "aibot_event_callback", "headers": { "req_id": "rp" },
            "body": {
                "msgid": "press", "chattype": "single", "from": { "userid": "una" }, "msgtype": "event",
                "event": { "eventtype": "template_card_event", "template_card_event": { "event_key": data } },
            },
        });
        self.push(&frame.to_string());
    }

    fn give_file(&self, id: u32, name: &str, bytes: &[u8]) {
        let key: Vec<u8> = (0..32).collect();
        let mut sealed = bytes.to_vec();
        let pad = 32 - sealed.len() % 32;
        sealed.extend(std::iter::repeat_n(u8::try_from(pad).unwrap(), pad));
        let iv: [u8; 16] = key[..16].try_into().unwrap();
        let seal = EncryptingKey::cbc(UnboundCipherKey::new(&AES_256, &key).unwrap()).unwrap();
        seal.less_safe_encrypt(&mut sealed, EncryptionContext::Iv128(FixedLength::from(iv)))
            .unwrap();
        let at = {
            let mut files = self.vendor.files.lock();
            files.push(sealed);
            files.len() - 1
        };
        let key = base64::engine::general_purpose::STANDARD_NO_PAD.encode(key);
        let url = format!("{}/file/{at}", self.vendor.url);
        self.message(id, "file", &json!({ "url": url, "aeskey": key, "filename": name }));
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
        Some(("WECOM_SECRET", "wrong".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
