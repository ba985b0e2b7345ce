//! WeCom's callbacks: sealed XML with its signature, and the message interface, from the published
//! callback protocol.

use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use base64::Engine as _;
use parking_lot::Mutex;
use serde_json::json;

use crate::double::{Call, Double, Reply, Vendor, bring, free_port, now};
use crate::suite::{Arrived, Side, Step};

/// 43 characters; with its sign of the end it is base64 of 32 bytes.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";

pub(crate) struct WeCom {
    port: u16,
    sent: Mutex<Vec<Arrived>>,
    said: Mutex<Vec<(u32, String)>>,
    slow: Mutex<bool>,
    tokens: Mutex<u32>,
}

pub(crate) async fn new() -> Double<WeCom> {
    Double::new(|_| WeCom {
        port: free_port(),
        sent: Mutex::default(),
        said: Mutex::default(),
        slow: Mutex::default(),
        tokens: Mutex::default(),
    })
    .await
}

fn sealed(letter: &str) -> String {
    let key: Vec<u8> = (0..32).collect();
    let length = u32::try_from(letter.len()).unwrap().to_be_bytes();
    let mut plain = [&[9_u8; 16][..], &length, letter.as_bytes(), b"corp1"].concat();
    let pad = 32 - plain.len() % 32;
    plain.extend(std::iter::repeat_n(u8::try_from(pad).unwrap(), pad));
    let iv: [u8; 16] = key[..16].try_into().unwrap();
    let key = EncryptingKey::cbc(UnboundCipherKey::new(&AES_256, &key).unwrap()).unwrap();
    key.less_safe_encrypt(&mut plain, EncryptionContext::Iv128(FixedLength::from(iv))).unwrap();
    base64::engine::general_purpose::STANDARD.encode(plain)
}

impl WeCom {
    fn deliver(&self, letter: &str) {
        let sealed = sealed(letter);
        let mut parts = ["tok", "170", "n1", sealed.as_str()];
        parts.sort_unstable();
        let algorithm = &aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY;
        let signed = aws_lc_rs::digest::digest(algorithm, parts.concat().as_bytes());
        let signed =
            signed.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let head = format!(
            "POST /wecom/callback?msg_signature={signed}&timestamp=170&nonce=n1 HTTP/1.1\r\nContent-Type: text/xml"
        );
        let body = format!(
            "<xml><ToUserName><![CDATA[corp1]]></ToUserName><Encrypt><![CDATA[{sealed}]]></Encrypt><AgentID><![CDATA[7]]></AgentID></xml>"
        );
        bring(self.port, head, body.into_bytes());
    }
}

impl Vendor for WeCom {
    fn call(&self, call: &Call) -> Reply {
        let path = call.path.trim_start_matches("/cgi-bin/");
        if path.starts_with("gettoken?") {
            if path != "gettoken?corpid=corp1&corpsecret=sec" {
                return Reply::Json(
                    200,
                    json!({ "errcode": 40001, "errmsg": "invalid credential" }),
                );
            }
            *self.tokens.lock() += 1;
            let token = format!("t{}", self.tokens.lock());
            return Reply::Json(
                200,
                json!({ "errcode": 0, "access_token": token, "expires_in": 7200 }),
            );
        }
        // The first token lapses early: it must be fetched once more.
        if path.ends_with("access_token=t1") && !self.sent.lock().is_empty() {
            return Reply::Json(200, json!({ "errcode": 42001, "errmsg": "access_token expired" }));
        }
        if path.starts_with("media/upload?type=file") {
            assert!(String::from_utf8_lossy(&call.body).contains("out.txt"));
            return Reply::Json(200, json!({ "errcode": 0, "media_id": "out.txt" }));
        }
        assert!(path.starts_with("message/send?"), "{path}");
        if std::mem::take(&mut *self.slow.lock()) {
            return Reply::Json(200, json!({ "errcode": -1, "errmsg": "system busy" }));
        }
        let body = call.json();
        assert_eq!((&body["agentid"], &body["enable_duplicate_check"]), (&json!(7), &json!(1)));
        let text = body["text"]["content"].as_str().unwrap_or_default().to_owned();
        assert!(text.len() <= 2048);
        let file = body["file"]["media_id"].as_str().map(str::to_owned);
        let text = if file.is_some() { String::new() } else { text };
        let mut sent = self.sent.lock();
        sent.push(Arrived {
            chat: body["touser"].as_str().unwrap().to_owned(),
            text,
            file,
            ..Arrived::default()
        });
        Reply::Json(
            200,
            json!({ "errcode": 0, "errmsg": "ok", "msgid": format!("m{}", sent.len()) }),
        )
    }
}

impl Side for Double<WeCom> {
    fn name(&self) -> &'static str {
        "wecom_callback"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("WECOM_CALLBACK_CORP_ID", "corp1".to_owned()),
            ("WECOM_CALLBACK_CORP_SECRET", "sec".to_owned()),
            ("WECOM_CALLBACK_AGENT_ID", "7".to_owned()),
            ("WECOM_CALLBACK_TOKEN", "tok".to_owned()),
            ("WECOM_CALLBACK_ENCODING_AES_KEY", KEY.to_owned()),
            ("WECOM_CALLBACK_PORT", self.vendor.port.to_string()),
            ("WECOM_CALLBACK_ALLOWED_USERS", "una".to_owned()),
        ]
    }

    fn values(&self) -> String {
        json!({ "platforms": { "wecom_callback": { "base_url": self.url } } }).to_string()
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "an application has none in plain messages"),
            (Step::Edit, "messages cannot be edited"),
            (Step::MediaIn, "files of people are not read"),
            (Step::Reconnect, "the server calls us; there is no connection to cut"),
        ]
    }

    fn chat(&self) -> &'static str {
        "una"
    }

    fn write(&self, id: u32, text: &str) {
        let letter = format!(
            "<xml><ToUserName><![CDATA[corp1]]></ToUserName><FromUserName><![CDATA[una]]></FromUserName><CreateTime>{}</CreateTime><MsgType><![CDATA[text]]></MsgType><Content><![CDATA[{text}]]></Content><MsgId>{id}</MsgId><AgentID>7</AgentID></xml>",
            now()
        );
        self.vendor.said.lock().push((id, letter.clone()));
        self.vendor.deliver(&letter);
    }

    fn again(&self, id: u32) {
        let letter =
            self.vendor.said.lock().iter().find(|(known, _)| *known == id).unwrap().1.clone();
        self.vendor.deliver(&letter);
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.vendor.sent.lock().clone()
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("WECOM_CALLBACK_CORP_SECRET", "wrong".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
