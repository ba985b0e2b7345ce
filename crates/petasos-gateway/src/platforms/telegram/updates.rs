//! Updates in everybody's words.

use petasos_net::Method;
use petasos_store::{ChatKind, MediaFile};
use serde_json::{Value, json};

use super::{CALL, FILE_BYTES_MAX, Me, Telegram, description};
use crate::link::Link;
use crate::platform::{Arrival, ArrivalKind, Sender, now_ms};
use crate::render::add;

impl Telegram {
    /// An update in everybody's words; nothing when it is none of ours.
    pub(super) async fn arrival(
        &self,
        link: &Link,
        update: &Value,
        id: i64,
        me: &Me,
    ) -> Option<Arrival> {
        let dedup = format!("u{id}");
        if let Some(press) = update.get("callback_query") {
            let message = press.get("message")?;
            let mut arrival = Self::basics(message, press.get("from"), dedup)?;
            press.get("id")?.as_str()?.clone_into(&mut arrival.dedup);
            arrival.kind = ArrivalKind::Button(press.get("data")?.as_str()?.to_owned());
            return Some(arrival);
        }
        if let Some(reaction) = update.get("message_reaction") {
            let mut arrival = Self::basics(reaction, reaction.get("user"), dedup)?;
            let mark = reaction.pointer("/new_reaction/0/emoji")?.as_str()?;
            arrival.kind = ArrivalKind::Reaction(mark.to_owned());
            return Some(arrival);
        }
        let (message, edited) = match (update.get("message"), update.get("edited_message")) {
            (Some(message), _) => (message, false),
            (None, Some(message)) => (message, true),
            _ => return None,
        };
        let mut arrival = Self::basics(message, message.get("from"), dedup)?;
        if arrival.sender.id.as_deref() == Some(me.id.as_str()) {
            return None;
        }
        if let Some(old) = message.get("migrate_from_chat_id").and_then(Value::as_i64) {
            arrival.kind = ArrivalKind::Migrated(old.to_string());
            return Some(arrival);
        }
        if edited {
            arrival.kind = ArrivalKind::Edited;
        }
        let said = message.get("text").or_else(|| message.get("caption"));
        said.and_then(Value::as_str).unwrap_or_default().clone_into(&mut arrival.text);
        let reply = message.get("reply_to_message");
        let answers_us = reply
            .and_then(|it| it.pointer("/from/id"))
            .and_then(Value::as_i64)
            .is_some_and(|id| id.to_string() == me.id);
        arrival.quoted = reply
            .filter(|_| !answers_us)
            .and_then(|it| it.get("text"))
            .and_then(Value::as_str)
            .map(str::to_owned);
        arrival.addressed = answers_us || names_us(&arrival.text, &me.name);
        if let Some(extra) = described(message) {
            add(&mut arrival.text, format_args!(" {extra}"));
        }
        if has_file(message) {
            let fetched = link.fetch(&mut arrival, self.media(link, message)).await;
            arrival.media = fetched.unwrap_or_default();
        }
        (!arrival.is_empty()).then_some(arrival)
    }

    fn basics(message: &Value, from: Option<&Value>, dedup: String) -> Option<Arrival> {
        let chat = message.get("chat")?;
        let kind = match chat.get("type").and_then(Value::as_str) {
            Some("private") => ChatKind::Dm,
            Some("channel") => ChatKind::Channel,
            _ if chat.get("is_forum").and_then(Value::as_bool) == Some(true) => ChatKind::Forum,
            _ => ChatKind::Group,
        };
        let topic = message.get("is_topic_message").and_then(Value::as_bool) == Some(true);
        let thread = message.get("message_thread_id").and_then(Value::as_i64);
        let word = |value: Option<&Value>, key: &str| {
            value.and_then(|it| it.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let name = format!("{} {}", word(from, "first_name"), word(from, "last_name"));
        Some(Arrival {
            dedup,
            message: message.get("message_id")?.as_i64()?.to_string(),
            sent_ms: message
                .get("date")
                .and_then(Value::as_i64)
                .map_or_else(now_ms, |seconds| seconds * 1000),
            kind: ArrivalKind::Message,
            chat: chat.get("id")?.as_i64()?.to_string(),
            chat_name: word(Some(chat), "title"),
            chat_kind: kind,
            // The general topic of a forum is no thread.
            thread: thread.filter(|id| topic && *id != 1).map(|id| id.to_string()),
            sender: Sender {
                id: from
                    .and_then(|it| it.get("id"))
                    .and_then(Value::as_i64)
                    .map(|id| id.to_string()),
                name: name.trim().to_owned(),
                bot: from.and_then(|it| it.get("is_bot")).and_then(Value::as_bool) == Some(true),
                ..Sender::default()
            },
            text: String::new(),
            media: Vec::new(),
            addressed: false,
            quoted: None,
            album: message.get("media_group_id").and_then(Value::as_str).map(str::to_owned),
            context: None,
            lost: Vec::new(),
        })
    }

    async fn media(&self, link: &Link, message: &Value) -> Result<Vec<MediaFile>, String> {
        let photo = message.get("photo").and_then(Value::as_array).and_then(|sizes| sizes.last());
        let found = photo.map(|photo| (photo, "image/jpeg")).or_else(|| {
            let kinds = [
                ("document", "application/octet-stream"),
                ("voice", "audio/ogg"),
                ("audio", "audio/mpeg"),
                ("video", "video/mp4"),
            ];
            kinds.into_iter().find_map(|(key, mime)| Some((message.get(key)?, mime)))
        });
        let Some((file, usual)) = found else { return Ok(Vec::new()) };
        let size = file.get("file_size").and_then(Value::as_u64).unwrap_or(0);
        if size > FILE_BYTES_MAX {
            return Err(format!("it has {} MB, and Telegram gives bots 20", size / 1_000_000));
        }
        let id = file.get("file_id").and_then(Value::as_str).ok_or("it has no identity")?;
        let answer = self
            .call("getFile", &json!({ "file_id": id }), CALL)
            .await
            .map_err(|error| error.to_string())?;
        let path = answer.body.pointer("/result/file_path").and_then(Value::as_str);
        let path = path
            .filter(|path| !path.contains("..") && !path.starts_with('/') && !path.contains(':'))
            .ok_or_else(|| description(&answer))?;
        let mime = file.get("mime_type").and_then(Value::as_str).unwrap_or(usual).to_owned();
        let to = link.media_path(&mime)?;
        let request = self.files.request(Method::GET, path).map_err(|error| error.to_string())?;
        self.files.download(request, &to, link.file_bytes_max(FILE_BYTES_MAX)).await?;
        let name = file.get("file_name").and_then(Value::as_str).unwrap_or("file").to_owned();
        Ok(vec![MediaFile { path: to.display().to_string(), mime, name }])
    }
}

/// Whether a message brings something that must be fetched.
fn has_file(message: &Value) -> bool {
    ["photo", "document", "voice", "audio", "video"].iter().any(|kind| message.get(kind).is_some())
}

fn names_us(text: &str, name: &str) -> bool {
    let lower = text.to_lowercase();
    !name.is_empty()
        && lower.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '@')).any(|word| {
            word.strip_prefix('@') == Some(name)
                || word.rsplit_once('@').is_some_and(|(_, bot)| bot == name)
        })
}

fn described(message: &Value) -> Option<String> {
    let number = |path: &str| message.pointer(path).and_then(Value::as_f64);
    if let (Some(latitude), Some(longitude)) =
        (number("/location/latitude"), number("/location/longitude"))
    {
        return Some(format!("[location {latitude}, {longitude}]"));
    }
    let emoji = message.pointer("/sticker/emoji").and_then(Value::as_str);
    emoji.map(|emoji| format!("[sticker {emoji}]"))
}
