//! WeChat by iLink: long polling as other programs were seen to do it; no reference is public.

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::double::{Call, Double, Reply, Vendor, header, now};
use crate::suite::{Arrived, Side, Step};

#[derive(Default)]
pub(crate) struct ILink {
    said: Mutex<Vec<Value>>,
    sent: Mutex<Vec<Arrived>>,
    slow: Mutex<bool>,
}

pub(crate) async fn new() -> Double<ILink> {
    Double::new(|_| ILink::default()).await
}

impl Vendor for ILink {
    fn call(&self, call: &Call) -> Reply {
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
                assert!(message["context_token"].as_str().unwrap().starts_with("ctx"));
                let text =
                    message["item_list"][0]["text_item"]["text"].as_str().unwrap().to_owned();
                assert!(text.chars().count() <= 2000);
                let chat = message["to_user_id"].as_str().unwrap().to_owned();
                self.sent.lock().push(Arrived { chat, text, ..Arrived::default() });
                Reply::Json(200, json!({ "ret": 0 }))
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
            ("WEIXIN_ALLOWED_USERS", "una".to_owned()),
        ]
    }

    fn skips(&self) -> &'static [(Step, &'static str)] {
        &[
            (Step::Buttons, "WeChat has none"),
            (Step::Edit, "messages cannot be edited"),
            (Step::MediaIn, "files lie sealed with another server, and are not read"),
            (Step::MediaOut, "files are not sent yet"),
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
