//! Whose a conversation is, as columns and as a condition.

use petasos_contract::SessionId;
use petasos_contract::address::Address;
use petasos_store::{NewSession, SessionScope, StoreError};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::failed;

/// The columns that [`read`] reads, in its order.
pub(crate) const COLUMNS: &str = "s.platform, s.chat, s.thread, s.user";

/// An owner; its columns begin at `from`.
pub(crate) fn read(row: &Row<'_>, from: usize) -> rusqlite::Result<Option<Address>> {
    let platform: Option<String> = row.get(from)?;
    let chat: Option<String> = row.get(from + 1)?;
    let (Some(platform), Some(chat)) = (platform, chat) else { return Ok(None) };
    Ok(Some(Address {
        platform: platform.into(),
        chat: chat.into(),
        thread: row.get::<_, Option<String>>(from + 2)?.map(Into::into),
        user: row.get::<_, Option<String>>(from + 3)?.map(Into::into),
    }))
}

/// The columns of an owner.
pub(crate) fn columns(owner: Option<&Address>) -> [Option<String>; 4] {
    let Some(Address { platform, chat, thread, user }) = owner else { return [const { None }; 4] };
    let thread = thread.as_ref().map(ToString::to_string);
    let user = user.as_ref().map(ToString::to_string);
    [Some(platform.to_string()), Some(chat.to_string()), thread, user]
}

/// Whose a new conversation is: its own owner's, or its parent's.
pub(crate) fn inherited(
    connection: &Connection,
    new: &NewSession,
) -> Result<Option<Address>, StoreError> {
    match (&new.owner, &new.parent) {
        (Some(owner), _) => Ok(Some(owner.clone())),
        (None, Some((parent, _))) => owner(connection, parent),
        (None, None) => Ok(None),
    }
}

fn owner(connection: &Connection, session: &SessionId) -> Result<Option<Address>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM sessions s WHERE s.id = ?1");
    let found = connection.query_row(&sql, [session.as_str()], |row| read(row, 0)).optional();
    Ok(found.map_err(failed)?.flatten())
}

/// The condition by which conversations are seen, on a table `s`, and its values; the first of them
/// has this number.
pub(crate) fn seen(scope: &SessionScope, number: usize) -> (String, Vec<Value>) {
    match scope {
        SessionScope::Everyone => (String::new(), Vec::new()),
        SessionScope::Local => ("AND s.platform IS NULL".to_owned(), Vec::new()),
        SessionScope::Chat(address) => {
            let [platform, chat, _, user] = columns(Some(address));
            let value = |text: Option<String>| text.map_or(Value::Null, Value::Text);
            let condition = format!(
                "AND s.platform = ?{number} AND s.chat = ?{} AND (s.user IS NULL OR s.user = ?{})",
                number + 1,
                number + 2
            );
            (condition, vec![value(platform), value(chat), value(user)])
        }
    }
}
