//! Discord's answers, cut to what matters.

use serde_json::{Value, json};

use super::{Flags, Wanted};
use crate::text::cut;

const CONTENT_CHARS: usize = 4000;
const TOPIC_CHARS: usize = 300;
/// The kind of a channel that groups others.
const CATEGORY: u64 = 4;

/// The answer of an action.
pub(super) fn told(wanted: &Wanted, value: &Value, flags: Flags) -> Value {
    let rows = value.as_array().cloned().unwrap_or_default();
    match wanted.action.name {
        "list_guilds" => {
            let guilds: Vec<Value> =
                rows.iter().map(|it| picked(it, &["id", "name", "owner"])).collect();
            json!({ "guilds": guilds, "count": rows.len() })
        }
        "server_info" => picked(
            value,
            &[
                "id",
                "name",
                "description",
                "owner_id",
                "approximate_member_count",
                "approximate_presence_count",
                "premium_tier",
                "features",
            ],
        ),
        "list_channels" => channels(&rows),
        "channel_info" => channel(value),
        "list_roles" => {
            let keys = ["id", "name", "color", "position", "managed", "mentionable", "hoist"];
            let mut roles: Vec<Value> = rows.iter().map(|it| picked(it, &keys)).collect();
            roles.sort_by_key(|it| std::cmp::Reverse(it.get("position").and_then(Value::as_u64)));
            json!({ "roles": roles, "count": rows.len() })
        }
        "member_info" => member(value),
        "search_members" => {
            let members: Vec<Value> = rows.iter().map(member).collect();
            json!({ "members": members, "count": rows.len() })
        }
        "fetch_messages" => messages(&rows, flags),
        "list_pins" => {
            let items = value.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
            let pins: Vec<Value> =
                items.iter().filter_map(|it| it.get("message")).map(message).collect();
            json!({ "count": pins.len(), "pinned_messages": pins })
        }
        "create_thread" => json!({
            "success": true, "thread_id": value.get("id"), "name": value.get("name"),
        }),
        name => {
            json!({ "success": true, "message": format!("{} was done", name.replace('_', " ")) })
        }
    }
}

fn picked(value: &Value, keys: &[&str]) -> Value {
    let kept = keys.iter().filter_map(|key| {
        let value = value.get(*key).filter(|value| !value.is_null())?;
        let value = match value.as_str() {
            Some(text) => cut(text, TOPIC_CHARS).into(),
            None => value.clone(),
        };
        Some(((*key).to_owned(), value))
    });
    Value::Object(kept.collect())
}

fn channel(value: &Value) -> Value {
    picked(value, &["id", "name", "type", "topic", "parent_id", "guild_id", "nsfw", "position"])
}

/// Channels below the category that they are in, in their order.
fn channels(rows: &[Value]) -> Value {
    let number = |it: &Value, key: &str| it.get(key).and_then(Value::as_u64).unwrap_or(0);
    let mut sorted: Vec<&Value> = rows.iter().collect();
    sorted.sort_by_key(|it| number(it, "position"));
    let of = |parent: Option<&Value>| -> Vec<Value> {
        let inside = sorted.iter().filter(|it| {
            number(it, "type") != CATEGORY
                && it.get("parent_id").filter(|id| !id.is_null())
                    == parent.and_then(|it| it.get("id"))
        });
        inside.map(|it| picked(it, &["id", "name", "type", "topic", "nsfw"])).collect()
    };
    let mut groups = Vec::new();
    let loose = of(None);
    if !loose.is_empty() {
        groups.push(json!({ "category": Value::Null, "channels": loose }));
    }
    for category in sorted.iter().filter(|it| number(it, "type") == CATEGORY) {
        groups.push(json!({ "category": picked(category, &["id", "name"]), "channels": of(Some(category)) }));
    }
    let total = rows.iter().filter(|it| number(it, "type") != CATEGORY).count();
    json!({ "channel_groups": groups, "total_channels": total })
}

fn member(value: &Value) -> Value {
    let empty = json!({});
    let user = value.get("user").unwrap_or(&empty);
    let mut told = json!({
        "user_id": user.get("id"), "username": user.get("username"),
        "display_name": user.get("global_name"), "roles": value.get("roles"),
        "joined_at": value.get("joined_at"),
    });
    if let Some(object) = told.as_object_mut() {
        for (key, value) in [("nickname", value.get("nick")), ("bot", user.get("bot"))] {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                object.insert(key.to_owned(), value.clone());
            }
        }
    }
    told
}

fn message(value: &Value) -> Value {
    let empty = json!({});
    let author = value.get("author").unwrap_or(&empty);
    let list = |key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let files: Vec<Value> = list("attachments")
        .iter()
        .map(|it| picked(it, &["filename", "content_type", "size", "url"]))
        .collect();
    let reactions: Vec<Value> = list("reactions")
        .iter()
        .map(|it| json!({ "emoji": it.pointer("/emoji/name"), "count": it.get("count") }))
        .collect();
    let content = value.get("content").and_then(Value::as_str).unwrap_or_default();
    json!({
        "id": value.get("id"), "content": cut(content, CONTENT_CHARS),
        "author": { "id": author.get("id"), "username": author.get("username"),
            "bot": author.get("bot").and_then(Value::as_bool).unwrap_or(false) },
        "timestamp": value.get("timestamp"), "edited_timestamp": value.get("edited_timestamp"),
        "attachments": files, "reactions": reactions, "pinned": value.get("pinned"),
    })
}

fn messages(rows: &[Value], flags: Flags) -> Value {
    let told: Vec<Value> = rows.iter().map(message).collect();
    let mut answer = json!({ "count": told.len(), "messages": told });
    if let Some(object) = answer.as_object_mut().filter(|_| !flags.reads_content()) {
        let note = "the bot lacks the Message Content Intent: what people write to others is \
            empty here; turn it on in Discord's developer portal";
        object.insert("note".to_owned(), note.into());
    }
    answer
}
