//! Rooms of Matrix: invitations, rooms that follow others, and those that cannot be read.

use petasos_net::Method;
use serde_json::{Value, json};

use super::{CALL, Matrix, said};
use crate::api::{link_error, segment};
use crate::link::Link;
use crate::platform::{Arrival, ArrivalKind, LinkError};

impl Matrix {
    /// Somebody invites us: we come when they may write.
    pub(super) async fn invited(
        &self,
        link: &Link,
        room: &str,
        invite: &Value,
        me: &str,
    ) -> Result<(), LinkError> {
        let events = invite
            .pointer("/invite_state/events")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let by = events.iter().find(|event| {
            event.get("type").and_then(Value::as_str) == Some("m.room.member")
                && event.get("state_key").and_then(Value::as_str) == Some(me)
        });
        let by = by
            .and_then(|event| event.get("sender"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_lowercase();
        if !link.is_known_peer(&by) {
            tracing::info!(room, "an invitation of somebody who may not write is left alone");
            return Ok(());
        }
        if !self.join(room).await? {
            return Ok(());
        }
        // The room follows another one, whose conversation goes on here.
        let mark = format!("follows:{room}");
        match link.cursor(&mark).await?.filter(|from| !from.is_empty()) {
            Some(from) => self.follow(link, (&from, room)).await,
            None => Ok(()),
        }
    }

    async fn join(&self, room: &str) -> Result<bool, LinkError> {
        let path = format!("join/{}", segment(room));
        let joined = self.call(Method::POST, &path, Some(&json!({})), CALL).await;
        let joined = joined.map_err(|error| link_error(&error))?;
        if !joined.is_ok() {
            tracing::info!(room, why = said(&joined), "a room is not open to us");
        }
        Ok(joined.is_ok())
    }

    /// A room goes on under another identity, where somebody says so who may write.
    pub(super) async fn moved(
        &self,
        link: &Link,
        (from, to): (&str, &str),
        by: &str,
    ) -> Result<(), LinkError> {
        if !link.is_known_peer(&by.to_lowercase()) {
            tracing::info!(room = from, "a room that a stranger moves is not followed");
            return Ok(());
        }
        // Where we must be invited first, we follow then.
        link.set_cursor(&format!("follows:{to}"), from).await?;
        if self.join(to).await? { self.follow(link, (from, to)).await } else { Ok(()) }
    }

    async fn follow(&self, link: &Link, (from, to): (&str, &str)) -> Result<(), LinkError> {
        if self.direct.lock().contains(from) {
            self.direct.lock().insert(to.to_owned());
        }
        let kind = ArrivalKind::Migrated(from.to_owned());
        let dedup = format!("{from} is {to}");
        link.take(Arrival { kind, ..Arrival::text(to, "", &dedup, "") }).await?;
        Ok(link.set_cursor(&format!("follows:{to}"), "").await?)
    }

    /// One notice for each encrypted room.
    pub(super) async fn tell_encrypted(&self, link: &Link, room: &str) -> Result<(), LinkError> {
        let mark = format!("encrypted:{room}");
        if link.cursor(&mark).await?.is_some() {
            return Ok(());
        }
        link.set_cursor(&mark, "told").await?;
        let body = json!({ "msgtype": "m.notice", "body": "I cannot read encrypted rooms here. Invite me into a room without encryption." });
        let path = format!("rooms/{}/send/m.room.message/encrypted-notice", segment(room));
        self.call(Method::PUT, &path, Some(&body), CALL)
            .await
            .map(drop)
            .map_err(|error| link_error(&error))
    }
}
