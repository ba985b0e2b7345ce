//! Buttons on Mattermost: its server calls us when one is pressed, with what we gave it for that
//! button and nobody else has seen. Without an address that it can call, cards are text.

use std::collections::HashMap;

use parking_lot::Mutex;
use petasos_contract::Secret;
use petasos_net::{Method, checked_url};
use petasos_store::{CardButton, ChatKind};
use serde_json::{Value, json};

use super::{CALL, Mattermost};
use crate::api::segment;
use crate::crypt::{hmac_sha256, same};
use crate::inbound::{Hit, ListenAt, Said, listen};
use crate::link::Link;
use crate::options::text_of;
use crate::platform::{Arrival, ArrivalKind, LinkError, Opening, Sender};

/// Where presses come in.
pub(super) struct Callback {
    /// As the server calls it.
    url: String,
    at: ListenAt,
    key: Secret,
    /// What whoever pressed is told, by press.
    words: Mutex<HashMap<String, String>>,
}

impl Callback {
    /// Where `MATTERMOST_CALLBACK_URL` says; nothing when it says nothing.
    pub(super) fn of(opening: &Opening<'_>, token: &str) -> Result<Option<Self>, String> {
        let url = text_of(opening.settings, "MATTERMOST_CALLBACK_URL");
        let key = || opening.settings.text("mattermost.callback_url").map(str::to_owned);
        let Some(url) = url.or_else(key) else { return Ok(None) };
        let whole =
            checked_url(&url).map_err(|error| format!("MATTERMOST_CALLBACK_URL: {error}"))?;
        let usual = (8069, if whole.path() == "/" { "/mattermost" } else { whole.path() });
        let at = ListenAt::of(opening, "MATTERMOST_WEBHOOK", usual)?;
        let key = Secret::new(token);
        Ok(Some(Self { url: whole.to_string(), at, key, words: Mutex::default() }))
    }

    /// What proves that a press is of a button of ours.
    fn sign(&self, data: &str) -> String {
        hmac_sha256(self.key.expose().as_bytes(), data.as_bytes())
    }

    /// The buttons under a post.
    pub(super) fn attachments(&self, buttons: &[CardButton]) -> Value {
        let action = |(number, it): (usize, &CardButton)| {
            let context = json!({ "data": it.data, "sign": self.sign(&it.data) });
            json!({ "id": format!("choice{number}"), "type": "button", "name": it.label,
                "integration": { "url": self.url, "context": context } })
        };
        let actions: Vec<Value> = buttons.iter().enumerate().map(action).collect();
        json!([{ "text": "", "actions": actions }])
    }

    pub(super) fn told(&self, press: &str, word: &str) {
        self.words.lock().insert(press.to_owned(), word.to_owned());
    }
}

impl Mattermost {
    /// Hears presses until something breaks; for ever where none can come.
    pub(super) async fn presses(&self, link: &Link) -> Result<(), LinkError> {
        match &self.callback {
            Some(callback) => {
                listen(&callback.at, link, |hit| self.pressed(link, callback, hit)).await
            }
            None => std::future::pending().await,
        }
    }

    async fn pressed(&self, link: &Link, callback: &Callback, hit: Hit) -> Said {
        let body = hit.json().unwrap_or_default();
        let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let data = text("/context/data");
        if data.is_empty() || !same(&callback.sign(data), text("/context/sign")) {
            return Said::unsigned();
        }
        let path = format!("channels/{}", segment(text("/channel_id")));
        let channel = self.api.call(Method::GET, &path, None, CALL).await;
        let kind = channel.ok().and_then(|it| it.body.get("type").cloned());
        let direct = kind.as_ref().and_then(Value::as_str) == Some("D");
        let press = text("/trigger_id").to_owned();
        let arrival = Arrival {
            message: text("/post_id").to_owned(),
            kind: ArrivalKind::Button(data.to_owned()),
            chat_kind: if direct { ChatKind::Dm } else { ChatKind::Channel },
            sender: Sender {
                id: Some(text("/user_id").to_owned()),
                name: text("/user_name").to_owned(),
                ..Sender::default()
            },
            addressed: true,
            ..Arrival::text(text("/channel_id"), "", &press, "")
        };
        if link.take(arrival).await.is_err() {
            return Said::again();
        }
        let word = callback.words.lock().remove(&press).unwrap_or_default();
        Said::json(&json!({ "ephemeral_text": word }))
    }
}
