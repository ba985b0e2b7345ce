//! What Slack brings, in everybody's words.

use petasos_store::ChatKind;
use serde_json::Value;

use super::Me;
use crate::platform::{Arrival, ArrivalKind, Sender, now_ms};

/// A message or a mention in everybody's words; nothing when it is our own or an edit.
pub(super) fn arrival(event: &Value, me: &Me) -> Option<Arrival> {
    let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or_default();
    if !matches!(text("type"), "message" | "app_mention")
        || !matches!(text("subtype"), "" | "file_share" | "thread_broadcast" | "bot_message")
        || text("user") == me.user
        || (!me.bot.is_empty() && text("bot_id") == me.bot)
    {
        return None;
    }
    let (channel, ts) = (text("channel"), text("ts"));
    let own = format!("<@{}>", me.user);
    let direct = text("channel_type") == "im" || channel.starts_with('D');
    let thread = Some(text("thread_ts")).filter(|it| !it.is_empty()).map(str::to_owned);
    let said = unescaped(&text("text").replace(&own, ""));
    Some(Arrival {
        message: ts.to_owned(),
        sent_ms: sent_ms(ts),
        chat_kind: if direct { ChatKind::Dm } else { ChatKind::Channel },
        thread,
        sender: Sender {
            id: Some(text("user")).filter(|it| !it.is_empty()).map(str::to_owned),
            bot: event.get("bot_id").is_some(),
            ..Sender::default()
        },
        addressed: direct || text("type") == "app_mention" || text("text").contains(&own),
        // The mention and the message are one text.
        ..Arrival::text(channel, "", &format!("{channel}/{ts}"), said.trim())
    })
}

/// A pressed button.
pub(super) fn press(payload: &Value) -> Option<Arrival> {
    let text = |path: &str| payload.pointer(path).and_then(Value::as_str);
    let channel = text("/channel/id")?;
    let data = text("/actions/0/value").or_else(|| text("/actions/0/action_id"))?;
    let stamp = text("/actions/0/action_ts").unwrap_or_default();
    let direct = channel.starts_with('D');
    // Only whoever pressed is told, by this address.
    let press = format!("{channel}/{}/{stamp}", text("/user/id")?);
    Some(Arrival {
        message: text("/message/ts").unwrap_or_default().to_owned(),
        kind: ArrivalKind::Button(data.to_owned()),
        chat_kind: if direct { ChatKind::Dm } else { ChatKind::Channel },
        thread: text("/message/thread_ts").map(str::to_owned),
        sender: Sender {
            id: text("/user/id").map(str::to_owned),
            name: text("/user/username").unwrap_or_default().to_owned(),
            ..Sender::default()
        },
        addressed: true,
        ..Arrival::text(channel, "", &press, "")
    })
}

/// A slash command of the app.
pub(super) fn slash(payload: &Value, envelope: &str) -> Option<Arrival> {
    let text = |key: &str| payload.get(key).and_then(Value::as_str).unwrap_or_default();
    let channel = text("channel_id");
    let words = format!("{} {}", text("command"), text("text"));
    let direct = channel.starts_with('D');
    let dedup = Some(text("trigger_id")).filter(|it| !it.is_empty()).unwrap_or(envelope);
    (!channel.is_empty()).then(|| Arrival {
        message: String::new(),
        chat_kind: if direct { ChatKind::Dm } else { ChatKind::Channel },
        addressed: true,
        ..Arrival::text(channel, text("user_id"), dedup, words.trim())
    })
}

/// Slack escapes three characters and nothing else.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn sent_ms(ts: &str) -> i64 {
    let seconds = ts.split('.').next().and_then(|it| it.parse::<i64>().ok());
    seconds.map_or_else(now_ms, |seconds| seconds * 1000)
}
