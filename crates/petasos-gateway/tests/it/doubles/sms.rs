//! Twilio: the signed webhook and the Messages resource, from the published interface description.

use base64::Engine as _;
use parking_lot::Mutex;
use serde_json::json;

use crate::double::{Call, Double, Reply, Vendor, bring, free_port};
use crate::suite::{Arrived, Side, Step};

pub(crate) const TOKEN: &str = "tw-token";
pub(crate) const URL: &str = "https://example.org/webhooks/twilio";
const UNA: &str = "+4915550001";

pub(crate) struct Twilio {
    pub(crate) port: u16,
    sent: Mutex<Vec<Arrived>>,
    slow: Mutex<bool>,
    said: Mutex<Vec<(u32, String)>>,
}

pub(crate) async fn new() -> Double<Twilio> {
    let (sent, slow, said) = (Mutex::default(), Mutex::default(), Mutex::default());
    Double::new(|_| Twilio { port: free_port(), sent, slow, said }).await
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte.into()),
            b' ' => out.push('+'),
            _ => {
                use std::fmt::Write as _;
                write!(out, "%{byte:02X}").unwrap();
            }
        }
    }
    out
}

/// The form of a message, and its signature.
pub(crate) fn form(id: u32, text: &str) -> (String, String) {
    let sid = format!("SM{id:032}");
    let mut pairs = [
        ("From", UNA),
        ("To", "+4930000000"),
        ("Body", text),
        ("MessageSid", &sid),
        ("NumMedia", "0"),
        ("AccountSid", "AC1"),
    ];
    pairs.sort_unstable();
    let text =
        pairs.iter().fold(URL.to_owned(), |text, (key, value)| format!("{text}{key}{value}"));
    let key =
        aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, TOKEN.as_bytes());
    let signed = base64::engine::general_purpose::STANDARD
        .encode(aws_lc_rs::hmac::sign(&key, text.as_bytes()));
    let form: Vec<String> =
        pairs.iter().map(|(key, value)| format!("{key}={}", encoded(value))).collect();
    (form.join("&"), signed)
}

pub(crate) fn head(signed: &str) -> String {
    format!(
        "POST /webhooks/twilio HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nX-Twilio-Signature: {signed}"
    )
}

impl Vendor for Twilio {
    fn call(&self, call: &Call) -> Reply {
        let basic = base64::engine::general_purpose::STANDARD.encode(format!("AC1:{TOKEN}"));
        if !call.headers.contains(&format!("Basic {basic}")) {
            return Reply::Json(
                401,
                json!({ "code": 20003, "message": "Authenticate", "status": 401 }),
            );
        }
        if call.path == "/2010-04-01/Accounts/AC1.json" {
            return Reply::Json(200, json!({ "sid": "AC1", "status": "active" }));
        }
        assert_eq!(call.path, "/2010-04-01/Accounts/AC1/Messages.json");
        if std::mem::take(&mut *self.slow.lock()) {
            return Reply::Json(
                429,
                json!({ "code": 20429, "message": "Too Many Requests", "retry_after": 1 }),
            );
        }
        let body = String::from_utf8(call.body.clone()).unwrap();
        let url = petasos_net::Url::parse(&format!("http://h/?{body}")).unwrap();
        let value = |name: &str| {
            url.query_pairs().find(|(key, _)| key == name).map(|(_, it)| it.into_owned()).unwrap()
        };
        let text = value("Body");
        assert!(text.chars().count() <= 1600 && value("From") == "+4930000000");
        let mut sent = self.sent.lock();
        sent.push(Arrived { chat: value("To"), text, ..Arrived::default() });
        Reply::Json(201, json!({ "sid": format!("SMout{}", sent.len()), "status": "queued" }))
    }
}

impl Side for Double<Twilio> {
    fn name(&self) -> &'static str {
        "sms"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("TWILIO_ACCOUNT_SID", "AC1".to_owned()),
            ("TWILIO_AUTH_TOKEN", TOKEN.to_owned()),
            ("TWILIO_PHONE_NUMBER", "+4930000000".to_owned()),
            ("SMS_WEBHOOK_URL", URL.to_owned()),
            ("SMS_WEBHOOK_PORT", self.vendor.port.to_string()),
            ("SMS_ALLOWED_USERS", UNA.to_owned()),
        ]
    }

    fn values(&self) -> String {
        json!({ "platforms": { "sms": { "base_url": self.url, "max_segments": 1000 } } })
            .to_string()
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "text messages have none"),
            (Step::Edit, "messages cannot be edited"),
            (Step::MediaIn, "pictures cost, and are not read"),
            (Step::MediaOut, "files are not sent"),
            (Step::Reconnect, "Twilio calls us; there is no connection to cut"),
        ]
    }

    fn chat(&self) -> &'static str {
        UNA
    }

    fn write(&self, id: u32, text: &str) {
        self.vendor.said.lock().push((id, text.to_owned()));
        let (form, signed) = form(id, text);
        bring(self.vendor.port, head(&signed), form.into_bytes());
    }

    fn again(&self, id: u32) {
        let text =
            self.vendor.said.lock().iter().find(|(known, _)| *known == id).unwrap().1.clone();
        let (form, signed) = form(id, &text);
        bring(self.vendor.port, head(&signed), form.into_bytes());
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.vendor.sent.lock().clone()
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("TWILIO_AUTH_TOKEN", "wrong".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
