//! A message of a stream in everybody's words.

use petasos_store::ChatKind;

use super::xml::Element;
use super::{SID, Xmpp, bare};
use crate::platform::{Arrival, ArrivalKind, Sender, now_ms};

impl Xmpp {
    /// A message in everybody's words; nothing when it is our own or says nothing.
    pub(super) fn arrival(&self, stanza: &Element) -> Option<Arrival> {
        let from = stanza.get("from");
        let room = stanza.get("type") == "groupchat";
        let nick = from.split_once('/').map(|(_, nick)| nick).unwrap_or_default();
        if bare(from).eq_ignore_ascii_case(&self.jid)
            || (room && (nick == self.user() || nick.is_empty()))
        {
            return None;
        }
        let body = stanza.child("body").map(|body| body.text.trim()).unwrap_or_default();
        let reactions = stanza.child("reactions");
        let emoji = reactions.and_then(|it| it.child("reaction")).map(|it| it.text.clone());
        if body.is_empty() && emoji.is_none() {
            return None;
        }
        let origin = stanza.child_of("origin-id", SID).map(|it| it.get("id"));
        let id = origin.filter(|id| !id.is_empty()).unwrap_or(stanza.get("id"));
        let id = if id.is_empty() { format!("at-{}", now_ms()) } else { id.to_owned() };
        let who = if room {
            self.people.lock().get(from).cloned()
        } else {
            Some(bare(from).to_lowercase())
        };
        let named = body.to_lowercase().starts_with(&self.user().to_lowercase());
        let words = if room && named {
            body.get(self.user().len()..).unwrap_or(body).trim_start_matches([':', ',', ' '])
        } else {
            body
        };
        let kind = match (&emoji, stanza.child("replace")) {
            (Some(emoji), _) => ArrivalKind::Reaction(emoji.clone()),
            (None, Some(_)) => ArrivalKind::Edited,
            (None, None) => ArrivalKind::Message,
        };
        let about = reactions.or_else(|| stanza.child("replace")).map(|it| it.get("id").to_owned());
        Some(Arrival {
            message: about.unwrap_or_else(|| stanza.get("id").to_owned()),
            kind,
            chat_name: bare(from).to_owned(),
            chat_kind: if room { ChatKind::Group } else { ChatKind::Dm },
            sender: Sender {
                id: who,
                name: if room { nick.to_owned() } else { bare(from).to_owned() },
                ..Sender::default()
            },
            addressed: !room || named,
            ..Arrival::text(&bare(from).to_lowercase(), "", &format!("{}/{id}", bare(from)), words)
        })
    }
}

/// Milliseconds since 1970 of `2026-11-17T08:09:10Z`.
pub(super) fn milliseconds(stamp: &str) -> Option<i64> {
    let part = |from: usize, to: usize| stamp.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    // Days since 1970 by the civil calendar, with years that begin in March.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days =
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1000)
}
