//! WhatsApp's Cloud API: the webhook with its signature, messages, media, from the published reference.

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor, bring, free_port, hmac_sha256, now};
use crate::suite::{Arrived, Side, Step};

pub(crate) const SECRET: &str = "app-secret";
pub(crate) const UNA: &str = "4915550001";

pub(crate) struct Cloud {
    url: String,
    pub(crate) port: u16,
    sent: Mutex<Vec<Arrived>>,
    slow: Mutex<bool>,
    said: Mutex<Vec<(u32, Vec<u8>)>>,
    files: Mutex<Vec<Vec<u8>>>,
    /// The next message is refused with this code.
    pub(crate) refuse: Mutex<Option<i64>>,
}

pub(crate) async fn new() -> Double<Cloud> {
    Double::new(|url| Cloud {
        url: url.to_owned(),
        port: free_port(),
        sent: Mutex::default(),
        slow: Mutex::default(),
        said: Mutex::default(),
        files: Mutex::default(),
        refuse: Mutex::default(),
    })
    .await
}

fn error(code: i64, message: &str) -> Value {
    json!({ "error": { "message": message, "type": "OAuthException", "code": code, "fbtrace_id": "x" } })
}

impl Cloud {
    /// What Meta brings, signed.
    pub(crate) fn event(message: &Value) -> Vec<u8> {
        json!({ "object": "whatsapp_business_account", "entry": [{ "id": "1", "changes": [{
            "field": "messages", "value": {
                "messaging_product": "whatsapp",
                "metadata": { "display_phone_number": "4930", "phone_number_id": "777" },
                "contacts": [{ "profile": { "name": "Una" }, "wa_id": UNA }],
                "messages": [message],
            } }] }] })
        .to_string()
        .into_bytes()
    }

    pub(crate) fn text(id: &str, text: &str, at: u64) -> Value {
        json!({ "from": UNA, "id": id, "timestamp": at.to_string(), "type": "text", "text": { "body": text } })
    }

    pub(crate) fn head(body: &[u8]) -> String {
        let signed = hmac_sha256(SECRET, body);
        format!("POST /whatsapp/webhook HTTP/1.1\r\nX-Hub-Signature-256: sha256={signed}")
    }

    pub(crate) fn bring(&self, id: u32, message: &Value) {
        let body = Self::event(message);
        self.said.lock().push((id, body.clone()));
        bring(self.port, Self::head(&body), body);
    }

    fn message(&self, body: &Value) -> Reply {
        assert_eq!(body["messaging_product"], "whatsapp");
        if let Some(code) = self.refuse.lock().take() {
            return Reply::Json(400, error(code, "Re-engagement message"));
        }
        if std::mem::take(&mut *self.slow.lock()) {
            let mut slow = error(131_056, "pair rate limit hit");
            slow["retry_after"] = json!(1);
            return Reply::Json(400, slow);
        }
        let kind = body["type"].as_str().unwrap();
        let text = match kind {
            "text" => body["text"]["body"].as_str().unwrap(),
            "interactive" => body["interactive"]["body"]["text"].as_str().unwrap(),
            _ => "",
        };
        assert!(text.chars().count() <= if kind == "interactive" { 1024 } else { 4096 });
        let buttons = body["interactive"]["action"]["buttons"].as_array();
        let buttons: Vec<String> = buttons
            .into_iter()
            .flatten()
            .map(|it| {
                assert!(it["reply"]["title"].as_str().unwrap().chars().count() <= 20);
                it["reply"]["id"].as_str().unwrap().to_owned()
            })
            .collect();
        assert!(buttons.len() <= 3);
        let file = body["document"]["filename"].as_str().map(str::to_owned);
        let mut sent = self.sent.lock();
        let chat = body["to"].as_str().unwrap().to_owned();
        sent.push(Arrived { chat, text: text.to_owned(), buttons, file });
        let id = format!("wamid.out{}", sent.len());
        Reply::Json(200, json!({ "messaging_product": "whatsapp", "messages": [{ "id": id }] }))
    }
}

impl Vendor for Cloud {
    fn call(&self, call: &Call) -> Reply {
        if !call.headers.contains("Bearer EAA1") {
            return Reply::Json(401, error(190, "Invalid OAuth access token"));
        }
        let path = call.path.trim_start_matches("/v20.0/");
        match (call.method.as_str(), path) {
            ("POST", "777/messages") => self.message(&call.json()),
            ("POST", "777/media") => Reply::Json(200, json!({ "id": "up1" })),
            ("GET", path) if path.starts_with("777?") => {
                Reply::Json(200, json!({ "display_phone_number": "+49 30", "id": "777" }))
            }
            ("GET", path) if path.starts_with("in") => {
                let at = path.trim_start_matches("in");
                Reply::Json(
                    200,
                    json!({ "url": format!("{}/file/{at}", self.url), "mime_type": "text/plain" }),
                )
            }
            ("GET", path) if path.starts_with("/file/") => {
                let at: usize = path.trim_start_matches("/file/").parse().unwrap();
                Reply::Bytes(self.files.lock()[at].clone())
            }
            other => Reply::Json(404, error(100, &format!("{other:?}"))),
        }
    }
}

impl Side for Double<Cloud> {
    fn name(&self) -> &'static str {
        "whatsapp_cloud"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("WHATSAPP_CLOUD_ACCESS_TOKEN", "EAA1".to_owned()),
            ("WHATSAPP_CLOUD_PHONE_NUMBER_ID", "777".to_owned()),
            ("WHATSAPP_CLOUD_APP_SECRET", SECRET.to_owned()),
            ("WHATSAPP_CLOUD_VERIFY_TOKEN", "verify-me".to_owned()),
            ("WHATSAPP_CLOUD_WEBHOOK_PORT", self.vendor.port.to_string()),
            ("WHATSAPP_CLOUD_ALLOWED_USERS", UNA.to_owned()),
        ]
    }

    fn values(&self) -> String {
        json!({ "platforms": { "whatsapp_cloud": { "base_url": self.url } } }).to_string()
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Edit, "messages cannot be edited"),
            (Step::Reconnect, "Meta calls us; there is no connection to cut"),
        ]
    }

    fn chat(&self) -> &'static str {
        UNA
    }

    fn write(&self, id: u32, text: &str) {
        self.vendor.bring(id, &Cloud::text(&format!("wamid.{id}"), text, now()));
    }

    fn again(&self, id: u32) {
        let said = self.vendor.said.lock();
        let body = said.iter().find(|(known, _)| *known == id).unwrap().1.clone();
        bring(self.vendor.port, Cloud::head(&body), body);
    }

    fn press(&self, data: &str) {
        self.vendor.bring(99, &json!({
            "from": UNA, "id": "wamid.press", "timestamp": now().to_string(), "type": "interactive",
            "interactive": { "type": "button_reply", "button_reply": { "id": data, "title": "x" } },
        }));
    }

    fn give_file(&self, id: u32, name: &str, bytes: &[u8]) {
        let at = {
            let mut files = self.vendor.files.lock();
            files.push(bytes.to_vec());
            files.len() - 1
        };
        self.vendor.bring(id, &json!({
            "from": UNA, "id": format!("wamid.{id}"), "timestamp": now().to_string(), "type": "document",
            "document": { "id": format!("in{at}"), "mime_type": "text/plain", "filename": name, "sha256": "x" },
        }));
    }

    fn arrived(&self) -> Vec<Arrived> {
        self.vendor.sent.lock().clone()
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("WHATSAPP_CLOUD_ACCESS_TOKEN", "EAAwrong".to_owned()))
    }

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
