//! Yuanbao as the clients of others speak to it: a signed sign-in, one socket, frames of protobuf.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor, hex, unhex};
use crate::suite::{Arrived, Side, Step};

#[derive(Default)]
pub(crate) struct Yuanbao {
    said: Mutex<Vec<(u32, Vec<u8>)>>,
    sent: Mutex<Vec<Arrived>>,
    confirmed: Mutex<BTreeSet<String>>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<Yuanbao> {
    Double::new(|_| Yuanbao::default()).await
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while number >= 0x80 {
        out.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    out.push(u8::try_from(number).unwrap());
    out
}

fn bytes(field: u64, value: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(value.len() as u64), value.to_vec()].concat()
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn take_varint(raw: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    while let [byte, rest @ ..] = *raw {
        *raw = rest;
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

/// Texts and numbers of a message by their fields.
fn fields(mut raw: &[u8]) -> Vec<(u64, Vec<u8>, u64)> {
    let mut all = Vec::new();
    while !raw.is_empty() {
        let tag = take_varint(&mut raw);
        let value = take_varint(&mut raw);
        if tag.trailing_zeros() >= 3 {
            all.push((tag >> 3, Vec::new(), value));
        } else {
            let (own, rest) = raw.split_at(usize::try_from(value).unwrap());
            all.push((tag >> 3, own.to_vec(), 0));
            raw = rest;
        }
    }
    all
}

fn inner(message: &[(u64, Vec<u8>, u64)], field: u64) -> Vec<u8> {
    message.iter().find(|it| it.0 == field).map(|it| it.1.clone()).unwrap_or_default()
}

fn text(message: &[(u64, Vec<u8>, u64)], field: u64) -> String {
    String::from_utf8(inner(message, field)).unwrap()
}

/// What Una writes, pushed to the bot.
fn push(id: u32, words: &str) -> Vec<u8> {
    let content = bytes(1, words.as_bytes());
    let element = [bytes(1, b"TIMTextElem"), bytes(2, &content)].concat();
    let body = [
        bytes(2, b"una"),
        bytes(3, b"bot1"),
        bytes(4, "Una".as_bytes()),
        number(10, crate::double::now()),
        bytes(12, format!("m{id}").as_bytes()),
        bytes(13, &element),
        // A field that nobody knows.
        bytes(99, b"?"),
    ];
    let head = [
        number(1, 2),
        bytes(2, b"inbound_message"),
        number(3, u64::from(id)),
        bytes(4, format!("p{id}").as_bytes()),
        bytes(5, b"yuanbao_openclaw_proxy"),
        number(6, 1),
    ];
    [bytes(1, &head.concat()), bytes(2, &body.concat())].concat()
}

impl Vendor for Yuanbao {
    fn call(&self, call: &Call) -> Reply {
        if call.path == "/wss" {
            return Reply::Socket;
        }
        let body = call.json();
        if body["app_key"] != "app1" {
            return Reply::Json(200, json!({ "code": 401, "msg": "no such bot" }));
        }
        assert_eq!(body["signature"].as_str().unwrap().len(), 64);
        let data = json!({ "bot_id": "bot1", "source": "web", "token": "t1" });
        Reply::Json(200, json!({ "code": 0, "data": data }))
    }

    fn hears(&self, frame: Option<&Value>) -> Vec<String> {
        let Some(frame) = frame.and_then(Value::as_str) else { return Vec::new() };
        let whole = fields(&unhex(frame.strip_prefix("hex:").unwrap()));
        let head = fields(&inner(&whole, 1));
        if head.iter().any(|it| it.0 == 1 && it.2 == 3) {
            self.confirmed.lock().insert(text(&head, 4));
            return Vec::new();
        }
        let (command, id) = (text(&head, 2), text(&head, 4));
        let mut told = Vec::new();
        let mut status = Vec::new();
        if command == "send_c2c_message" {
            if std::mem::take(&mut *self.slow.lock()) {
                status = [number(1, 4010), bytes(2, b"too fast")].concat();
            } else {
                let body = fields(&inner(&whole, 2));
                let element = fields(&inner(&body, 5));
                let content = fields(&inner(&element, 2));
                let chat = format!("direct:{}", text(&body, 2));
                let text = text(&content, 1);
                self.sent.lock().push(Arrived { chat, text, ..Arrived::default() });
            }
        }
        let head = [number(1, 1), bytes(2, command.as_bytes()), bytes(4, id.as_bytes())].concat();
        told.push(hex(&[bytes(1, &head), bytes(2, &status)].concat()));
        if command == "auth-bind" {
            // What came while nobody listened is given again until it is confirmed.
            let confirmed = self.confirmed.lock();
            let said = self.said.lock();
            let missing = said.iter().filter(|(id, _)| !confirmed.contains(&format!("p{id}")));
            told.extend(missing.map(|(_, frame)| hex(frame)));
        }
        told
    }
}

impl Side for Double<Yuanbao> {
    fn name(&self) -> &'static str {
        "yuanbao"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("YUANBAO_APP_ID", "app1".to_owned()),
            ("YUANBAO_APP_SECRET", "secret".to_owned()),
            ("YUANBAO_API_DOMAIN", self.url.clone()),
            ("YUANBAO_WS_URL", format!("{}/wss", self.url)),
            ("YUANBAO_ALLOWED_USERS", "una".to_owned()),
        ]
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "Yuanbao has none"),
            (Step::Edit, "messages cannot be edited"),
            (Step::MediaIn, "files lie in the vendor's own store, and are not read"),
            (Step::MediaOut, "the tools' own double shows files going out"),
            (Step::Limits, "what the vendor says when it is too fast is not known"),
        ]
    }

    fn chat(&self) -> &'static str {
        "direct:una"
    }

    fn write(&self, id: u32, text: &str) {
        let frame = push(id, text);
        self.vendor.said.lock().push((id, frame.clone()));
        self.push(&hex(&frame));
    }

    fn again(&self, id: u32) {
        let said = self.vendor.said.lock().clone();
        let (_, same) = said.iter().find(|(known, _)| *known == id).unwrap();
        self.push(&hex(same));
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
        Some(("YUANBAO_APP_ID", "wrong".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
