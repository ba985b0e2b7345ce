//! Stored messages as rows, and values as the text of a column.

use petasos_contract::SessionId;
use petasos_store::{
    ChatKey, ChatKind, InboundKind, InboundMessage, InboxRow, InboxState, StoreError,
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::failed;

/// The columns that [`stored`] reads, in its order.
pub(super) const COLUMNS: &str = "id, profile, platform, account, kind, chat, thread, user, sender, \
                       sender_name, dedup, message, sent_ms, event, body, media, received_ms, \
                       state, session, attempts, reason";

/// One message.
pub(super) fn one(connection: &Connection, id: &str) -> Result<Option<InboxRow>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM inbox WHERE id = ?1");
    connection
        .prepare_cached(&sql)
        .and_then(|mut sql| sql.query_row([id], stored).optional())
        .map_err(failed)
}

/// A message of these columns.
pub(super) fn stored(row: &Row<'_>) -> rusqlite::Result<InboxRow> {
    let kind: String = row.get(4)?;
    let event: String = row.get(13)?;
    let media: String = row.get(15)?;
    let state: String = row.get(17)?;
    Ok(InboxRow {
        id: row.get(0)?,
        message: InboundMessage {
            key: ChatKey {
                profile: row.get(1)?,
                platform: row.get(2)?,
                account: row.get(3)?,
                kind: ChatKind::named(&kind).unwrap_or(ChatKind::Dm),
                chat: row.get(5)?,
                thread: some(row.get(6)?),
                user: some(row.get(7)?),
            },
            sender: row.get(8)?,
            sender_name: row.get(9)?,
            dedup: row.get(10)?,
            message: row.get(11)?,
            sent_ms: row.get(12)?,
            kind: serde_json::from_value(event.into()).unwrap_or(InboundKind::Text),
            text: row.get(14)?,
            media: serde_json::from_str(&media).unwrap_or_default(),
        },
        received_ms: row.get(16)?,
        state: InboxState::named(&state).unwrap_or(InboxState::Ignored),
        session: some(row.get(18)?).map(SessionId::from),
        attempts: row.get(19)?,
        reason: row.get(20)?,
    })
}

/// Nothing for an empty text.
pub(crate) fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// A value as JSON text.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))
}

/// The word of a value that is one.
pub(super) fn word(value: &impl serde::Serialize) -> Result<String, StoreError> {
    let value =
        serde_json::to_value(value).map_err(|error| StoreError::Failed(error.to_string()))?;
    Ok(value.as_str().unwrap_or_default().to_owned())
}
