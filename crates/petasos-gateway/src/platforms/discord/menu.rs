//! The commands that Discord shows while somebody types a slash: set when they are others than those
//! that it has, and taken like words.

use std::time::Duration;

use petasos_net::Method;
use petasos_store::ChatKind;
use serde_json::{Value, json};

use super::Discord;
use crate::api::segment;
use crate::crypt::{hex, sha256};
use crate::link::Link;
use crate::menu::{MenuItem, MenuLimits};
use crate::platform::{Arrival, LinkError, Platform as _, Sender};

const LIMITS: MenuLimits = MenuLimits { items: 100, name: 32, about: 100 };
const SYNC: Duration = Duration::from_secs(8);
/// A command of the kind that is typed, and a text behind it.
const TYPED: u64 = 1;
const TEXT: u64 = 3;

impl Discord {
    /// Sets the menu, once for each that there is. A bot without one works, too.
    pub(super) async fn set_menu(&self, link: &Link) -> Result<(), LinkError> {
        let item = |item: &MenuItem| {
            let words = json!({ "type": TEXT, "name": "words", "required": false,
                "description": "What follows the command" });
            json!({ "type": TYPED, "name": item.name, "description": item.about,
                "options": [words] })
        };
        let items = link.menu(LIMITS).await;
        let wanted = Value::Array(items.iter().map(item).collect());
        let mark = hex(&sha256(wanted.to_string().as_bytes()));
        if link.cursor("menu").await?.as_deref() == Some(&mark) {
            return Ok(());
        }
        // Meanwhile nobody gives a sign of life.
        let synced = tokio::time::timeout(SYNC, self.sync_menu(&items, &wanted)).await;
        if let Err(why) = synced.unwrap_or_else(|_| Err("no answer".to_owned())) {
            tracing::debug!(why, "the menu is as before");
            return Ok(());
        }
        link.set_cursor("menu", &mark).await.map_err(LinkError::from)
    }

    async fn sync_menu(&self, items: &[MenuItem], wanted: &Value) -> Result<(), String> {
        let own = self.call(Method::GET, "applications/@me", None).await;
        let own = own.map_err(|error| error.to_string())?;
        let id = own.body.get("id").and_then(Value::as_str).ok_or("its number is not told")?;
        let path = format!("applications/{}/commands", segment(id));
        let now = self.call(Method::GET, &path, None).await.map_err(|error| error.to_string())?;
        let known = now.body.as_array().cloned().unwrap_or_default();
        let same = known.len() == items.len()
            && items.iter().all(|item| {
                known.iter().any(|it| it["name"] == item.name && it["description"] == item.about)
            });
        if same {
            return Ok(());
        }
        let set = self.call(Method::PUT, &path, Some(wanted)).await;
        let set = set.map_err(|error| error.to_string())?;
        if set.is_ok() { Ok(()) } else { Err(format!("{}: {}", set.status, super::said(&set))) }
    }

    /// A command that was chosen from the menu, as if it was typed. Discord is told within its
    /// three seconds that it was heard; the answer comes as a message.
    pub(super) async fn called(&self, link: &Link, event: &Value) -> Result<(), LinkError> {
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if event.get("type").and_then(Value::as_u64) != Some(2) {
            return Ok(());
        }
        let (name, argument) = (text("/data/name"), text("/data/options/0/value"));
        let typed = format!("/{name} {argument}");
        let channel = text("/channel_id").to_owned();
        let parent = self.threads.lock().get(&channel).cloned();
        let shared = event.get("guild_id").is_some();
        let user = event.pointer("/member/user").or_else(|| event.get("user"));
        let of = |key: &str| user.and_then(|it| it.get(key)).and_then(Value::as_str);
        let roles = event.pointer("/member/roles").and_then(Value::as_array);
        let roles = roles.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        let arrival = Arrival {
            message: String::new(),
            chat_kind: if shared { ChatKind::Group } else { ChatKind::Dm },
            thread: parent.is_some().then(|| channel.clone()),
            sender: Sender {
                id: of("id").map(str::to_owned),
                name: of("username").unwrap_or_default().to_owned(),
                roles: roles.collect(),
                ..Sender::default()
            },
            addressed: true,
            ..Arrival::text(&parent.unwrap_or(channel), "", text("/id"), typed.trim())
        };
        link.take(arrival).await?;
        let press = format!("{}/{}", text("/id"), text("/token"));
        self.acknowledge(&press, &format!("`{}`", typed.trim().replace('`', "'"))).await;
        Ok(())
    }
}
