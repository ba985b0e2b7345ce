//! signal-cli's daemon: JSON-RPC and its event stream, from its manual.

use base64::Engine as _;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor};
use crate::suite::{Arrived, Side, Step};

const UNA: &str = "11111111-2222-3333-4444-555555555555";
const NUMBER: &str = "+491700000001";

#[derive(Default)]
pub(crate) struct Signal {
    events: Mutex<Vec<Value>>,
    sent: Mutex<Vec<Arrived>>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<Signal> {
    Double::new(|_| Signal::default()).await
}

fn event(id: u32, text: &str, files: &Value) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let stamp = u64::try_from(now.as_millis()).unwrap() + u64::from(id);
    json!({ "account": "+491700000000", "envelope": {
        "source": UNA, "sourceUuid": UNA, "sourceNumber": NUMBER, "sourceName": "Una", "timestamp": stamp,
        "dataMessage": { "timestamp": stamp, "message": text, "attachments": files },
    }})
}

impl Vendor for Signal {
    fn call(&self, call: &Call) -> Reply {
        if call.path.starts_with("/api/v1/events") {
            return Reply::Stream;
        }
        let body = call.json();
        let (id, params) = (&body["id"], &body["params"]);
        let good = |result: Value| {
            Reply::Json(200, json!({ "jsonrpc": "2.0", "id": id, "result": result }))
        };
        match body["method"].as_str().unwrap() {
            "send" => {
                if std::mem::take(&mut *self.slow.lock()) {
                    let error = json!({ "code": -5, "message": "rate limit", "data": { "response": { "results": [{ "type": "RATE_LIMIT_FAILURE", "retryAfterSeconds": 1 }] } } });
                    return Reply::Json(200, json!({ "jsonrpc": "2.0", "id": id, "error": error }));
                }
                let file = params["attachments"][0].as_str();
                let file = file.map(|path| path.rsplit('/').next().unwrap().to_owned());
                let mut sent = self.sent.lock();
                sent.push(Arrived {
                    chat: params["recipient"][0].as_str().unwrap().to_owned(),
                    text: params["message"].as_str().unwrap().to_owned(),
                    buttons: Vec::new(),
                    file,
                });
                good(json!({ "timestamp": sent.len() }))
            }
            "getAttachment" => {
                let data = base64::engine::general_purpose::STANDARD.encode("words inside");
                good(json!({ "data": data }))
            }
            _ => good(json!({})),
        }
    }
}

impl Double<Signal> {
    fn tell(&self, event: &Value) {
        self.push(&format!("event:receive\ndata:{event}\n\n"));
    }
}

impl Side for Double<Signal> {
    fn name(&self) -> &'static str {
        "signal"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("SIGNAL_HTTP_URL", self.url.clone()),
            ("SIGNAL_ACCOUNT", "+491700000000".to_owned()),
            // Listed by number, known by identity.
            ("SIGNAL_ALLOWED_USERS", NUMBER.to_owned()),
        ]
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "Signal has none"),
            (Step::Edit, "text cards are not redrawn"),
            (Step::CatchUp, "signal-cli keeps what it received for nobody who reads later"),
        ]
    }

    fn chat(&self) -> &'static str {
        UNA
    }

    fn write(&self, id: u32, text: &str) {
        let event = event(id, text, &json!([]));
        self.vendor.events.lock().push(event.clone());
        self.tell(&event);
    }

    fn again(&self, id: u32) {
        let same = self.vendor.events.lock()[usize::try_from(id).unwrap() - 1].clone();
        self.tell(&same);
    }

    fn give_file(&self, id: u32, name: &str, bytes: &[u8]) {
        let files = json!([{ "id": "a1", "filename": name, "contentType": "text/plain", "size": bytes.len() }]);
        self.tell(&event(id, "", &files));
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

    fn slow_down(&self) {
        *self.vendor.slow.lock() = true;
    }
}
