//! What Discord brings, in everybody's words.

use petasos_net::Method;
use petasos_store::{ChatKind, MediaFile};
use serde_json::Value;

use super::{Discord, FILE_BYTES_MAX};
use crate::link::Link;
use crate::platform::{Arrival, ArrivalKind, Sender, now_ms};

impl Discord {
    /// A message in everybody's words; nothing when it is our own.
    pub(super) fn arrival(&self, event: &Value, me: &str) -> Option<Arrival> {
        let text = |path: &str| event.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let author = text("/author/id").to_owned();
        if author == me || author.is_empty() {
            return None;
        }
        let channel = text("/channel_id").to_owned();
        let shared = event.get("guild_id").is_some();
        let parent = self.threads.lock().get(&channel).cloned();
        let named = |who: &Value| who.get("id").and_then(Value::as_str) == Some(me);
        let mentions = event.get("mentions").and_then(Value::as_array);
        let quoted = event.get("referenced_message").filter(|it| it.is_object());
        let answers_us =
            quoted.and_then(|it| it.pointer("/author/id")).and_then(Value::as_str) == Some(me);
        let roles = event.pointer("/member/roles").and_then(Value::as_array);
        let roles = roles.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        let name = [text("/member/nick"), text("/author/global_name"), text("/author/username")];
        let name = name.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let own = format!("<@{me}>");
        let said = text("/content").replace(&own, "").replace(&format!("<@!{me}>"), "");
        Some(Arrival {
            dedup: text("/id").to_owned(),
            message: text("/id").to_owned(),
            sent_ms: sent_ms(text("/id")),
            kind: ArrivalKind::Message,
            chat: parent.clone().unwrap_or_else(|| channel.clone()),
            chat_name: String::new(),
            chat_kind: if shared { ChatKind::Group } else { ChatKind::Dm },
            thread: parent.map(|_| channel),
            sender: Sender {
                id: Some(author),
                name: name.to_owned(),
                bot: event.pointer("/author/bot").and_then(Value::as_bool) == Some(true)
                    || event.get("webhook_id").is_some(),
                roles: roles.collect(),
                ..Sender::default()
            },
            text: said.trim().to_owned(),
            media: Vec::new(),
            addressed: !shared || answers_us || mentions.is_some_and(|all| all.iter().any(named)),
            quoted: quoted
                .filter(|_| !answers_us)
                .and_then(|it| it.get("content"))
                .and_then(Value::as_str)
                .map(str::to_owned),
            album: None,
            context: None,
            lost: Vec::new(),
        })
    }

    /// A pressed button. Its identity carries what the answer needs.
    pub(super) fn press(&self, event: &Value) -> Option<Arrival> {
        let text = |path: &str| event.pointer(path).and_then(Value::as_str);
        let data = text("/data/custom_id")?.to_owned();
        let user = event.pointer("/member/user").or_else(|| event.get("user"))?;
        let channel = text("/channel_id")?.to_owned();
        let parent = self.threads.lock().get(&channel).cloned();
        let roles = event.pointer("/member/roles").and_then(Value::as_array);
        let roles = roles.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        let press = format!("{}/{}", text("/id")?, text("/token")?);
        let shared = event.get("guild_id").is_some();
        Some(Arrival {
            message: text("/message/id").unwrap_or_default().to_owned(),
            kind: ArrivalKind::Button(data),
            chat_kind: if shared { ChatKind::Group } else { ChatKind::Dm },
            thread: parent.is_some().then(|| channel.clone()),
            sender: Sender {
                id: user.get("id").and_then(Value::as_str).map(str::to_owned),
                name: user.get("username").and_then(Value::as_str).unwrap_or_default().to_owned(),
                roles: roles.collect(),
                ..Sender::default()
            },
            addressed: true,
            ..Arrival::text(&parent.unwrap_or(channel), "", &press, "")
        })
    }

    /// Files lie on hosts of Discord's own; no other is fetched from, and none gets the token.
    pub(super) async fn attachment(&self, link: &Link, file: &Value) -> Result<MediaFile, String> {
        let text = |key: &str| file.get(key).and_then(Value::as_str).unwrap_or_default();
        let url = petasos_net::checked_url(text("url")).map_err(|error| error.to_string())?;
        let own = self.api.url("").map_err(|error| error.to_string())?;
        let host = url.host_str().unwrap_or_default();
        let trusted = matches!(host, "cdn.discordapp.com" | "media.discordapp.net")
            || (url.host_str(), url.port()) == (own.host_str(), own.port());
        if !trusted {
            return Err(format!("`{host}` is no host of Discord's"));
        }
        let kind = text("content_type").split(';').next().unwrap_or_default();
        let mime = if kind.is_empty() { "application/octet-stream" } else { kind };
        let to = link.media_path(mime)?;
        let request = petasos_net::Request::new(Method::GET, url);
        self.api.download(request, &to, link.file_bytes_max(FILE_BYTES_MAX)).await?;
        let name = text("filename").to_owned();
        Ok(MediaFile { path: to.display().to_string(), mime: mime.to_owned(), name })
    }
}

/// The time in a snowflake.
fn sent_ms(id: &str) -> i64 {
    const EPOCH_MS: i64 = 1_420_070_400_000;
    id.parse::<i64>().map_or_else(|_| now_ms(), |id| (id >> 22) + EPOCH_MS)
}
