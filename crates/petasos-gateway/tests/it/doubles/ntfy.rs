//! ntfy: publishing to a topic and its stream of lines, from the published interface.

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor, header};
use crate::suite::{Arrived, Side, Step};

#[derive(Default)]
pub(crate) struct Ntfy {
    messages: Mutex<Vec<Value>>,
    since: Mutex<String>,
    sent: Mutex<Vec<Arrived>>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<Ntfy> {
    Double::new(|_| Ntfy::default()).await
}

fn message(id: &str, text: &str, tags: &Value) -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    json!({ "id": id, "time": now, "event": "message", "topic": "una", "message": text, "tags": tags })
}

impl Vendor for Ntfy {
    fn call(&self, call: &Call) -> Reply {
        if !call.headers.contains("Bearer tk_1") {
            return Reply::Json(401, json!({ "code": 40101, "error": "unauthorized" }));
        }
        if call.method == "GET" {
            let since = call.path.split("since=").nth(1).unwrap_or_default();
            since.clone_into(&mut self.since.lock());
            return Reply::Stream;
        }
        if std::mem::take(&mut *self.slow.lock()) {
            return Reply::Json(
                429,
                json!({ "code": 42901, "error": "limit reached", "retry_after": 1 }),
            );
        }
        let text = String::from_utf8(call.body.clone()).unwrap();
        assert!(text.len() <= 4096, "{}", text.len());
        let tag = header(&call.headers, "tags").unwrap_or_default().to_owned();
        let mut sent = self.sent.lock();
        sent.push(Arrived {
            chat: call.path.trim_start_matches('/').to_owned(),
            text: text.clone(),
            ..Arrived::default()
        });
        let id = format!("own{}", sent.len());
        self.messages.lock().push(message(&id, &text, &json!([tag])));
        Reply::Json(200, json!({ "id": id }))
    }

    fn hears(&self, _: Option<&Value>) -> Vec<String> {
        let open = json!({ "id": "o", "event": "open", "topic": "una" });
        let (messages, since) = (self.messages.lock(), self.since.lock().clone());
        let known = messages.iter().position(|it| it["id"] == json!(since));
        let newer = known.map_or(&[] as &[Value], |at| &messages[at + 1..]);
        std::iter::once(&open).chain(newer).map(|it| format!("{it}\n")).collect()
    }
}

impl Side for Double<Ntfy> {
    fn name(&self) -> &'static str {
        "ntfy"
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("NTFY_SERVER", self.url.clone()),
            ("NTFY_TOPIC", "una".to_owned()),
            ("NTFY_TOKEN", "tk_1".to_owned()),
            ("NTFY_ALLOWED_USERS", "una".to_owned()),
        ]
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "a button of ntfy calls an address, and there is none"),
            (Step::Edit, "messages cannot be edited"),
            (Step::MediaIn, "attachments are links of strangers"),
            (Step::MediaOut, "files are not sent"),
        ]
    }

    fn chat(&self) -> &'static str {
        "una"
    }

    fn write(&self, id: u32, text: &str) {
        let message = message(&format!("m{id}"), text, &json!([]));
        self.vendor.messages.lock().push(message.clone());
        self.push(&format!("{message}\n"));
    }

    fn again(&self, id: u32) {
        let wanted = json!(format!("m{id}"));
        let same = self.vendor.messages.lock().iter().find(|it| it["id"] == wanted).cloned();
        self.push(&format!("{}\n", same.unwrap()));
    }

    fn wrong(&self) -> Option<(&'static str, String)> {
        Some(("NTFY_TOKEN", "tk_wrong".to_owned()))
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
