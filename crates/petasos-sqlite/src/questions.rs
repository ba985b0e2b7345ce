//! Questions to people: one row each, decided by conditional updates.

use petasos_contract::SessionId;
use petasos_contract::address::Address;
use petasos_store::{
    AnswerOutcome, Later, NewQuestion, NotAnswered, QuestionAnswer, QuestionId, QuestionRecord,
    QuestionState, QuestionStore, REJOINED_MIN, StoreError,
};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::sqlite::failed;
use crate::store::Store;

const COLUMNS: &str = "id, number, session, turn, call, kind, digest, body, platform, chat, \
                       thread, user, opened_ms, expires_ms, state, answer";

impl QuestionStore for Store {
    fn ask(&self, new: NewQuestion) -> Later<'_, QuestionRecord> {
        let job = move |connection: &Connection| ask(connection, &new);
        Box::pin(self.writer.write("a question", job))
    }

    fn answer<'a>(&'a self, id: &'a QuestionId, given: QuestionAnswer) -> Later<'a, AnswerOutcome> {
        let id = id.clone();
        let job = move |connection: &Connection| answer(connection, &id, &given);
        Box::pin(self.writer.write("an answer", job))
    }

    fn extend<'a>(&'a self, id: &'a QuestionId, expires_ms: i64) -> Later<'a, ()> {
        let id = id.clone();
        let job = move |connection: &Connection| {
            let sql = "UPDATE questions SET expires_ms = ?2 WHERE id = ?1 AND state = 'open'";
            connection.execute(sql, params![id.as_str(), expires_ms]).map(drop).map_err(failed)
        };
        Box::pin(self.writer.write("the time of a question", job))
    }

    fn take<'a>(&'a self, id: &'a QuestionId) -> Later<'a, Option<QuestionAnswer>> {
        let id = id.clone();
        let job = move |connection: &Connection| take(connection, &id);
        Box::pin(self.writer.write("an answer", job))
    }

    fn close<'a>(
        &'a self,
        id: &'a QuestionId,
        how: NotAnswered,
    ) -> Later<'a, Option<QuestionState>> {
        let id = id.clone();
        let job = move |connection: &Connection| {
            close(connection, &id, how)?;
            Ok(find(connection, &id)?.map(|record| record.state))
        };
        Box::pin(self.writer.write("a question", job))
    }

    fn close_later(&self, id: &QuestionId, how: NotAnswered) {
        let id = id.clone();
        self.writer.write_later("a question", move |connection| close(connection, &id, how));
    }

    fn get<'a>(&'a self, id: &'a QuestionId) -> Later<'a, Option<QuestionRecord>> {
        let id = id.clone();
        Box::pin(self.readers.read("a question", move |connection| find(connection, &id)))
    }

    fn open<'a>(&'a self, session: Option<&'a SessionId>) -> Later<'a, Vec<QuestionRecord>> {
        let session = session.map(ToString::to_string);
        let look = move |connection: &Connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM questions WHERE state = 'open' \
                 AND (?1 IS NULL OR session = ?1) ORDER BY opened_ms, number"
            );
            let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
            let found = statement.query_map([session], read).map_err(failed)?;
            found.collect::<Result<_, _>>().map_err(failed)
        };
        Box::pin(self.readers.read("open questions", look))
    }
}

fn ask(connection: &Connection, new: &NewQuestion) -> Result<QuestionRecord, StoreError> {
    if let Some(mut same) = before(connection, new)? {
        let least = i64::try_from(REJOINED_MIN.as_millis()).unwrap_or(i64::MAX);
        let expires = same.asked.expires_ms.max(new.opened_ms.saturating_add(least));
        let sql = "UPDATE questions SET expires_ms = ?2 WHERE id = ?1";
        connection.execute(sql, params![same.asked.id.as_str(), expires]).map_err(failed)?;
        same.asked.expires_ms = expires;
        return Ok(same);
    }
    let sql = "UPDATE questions SET state = 'cancelled' WHERE session = ?1 AND call = ?2 \
               AND state IN ('open', 'answered')";
    connection.execute(sql, params![new.session.as_str(), new.call.as_str()]).map_err(failed)?;
    let sql = format!(
        "INSERT INTO questions({COLUMNS}) VALUES (?1, \
         (SELECT 1 + coalesce(max(number), 0) FROM questions WHERE session = ?2), \
         ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 'open', NULL)"
    );
    connection
        .prepare_cached(&sql)
        .and_then(|mut sql| {
            sql.execute(params![
                new.id.as_str(),
                new.session.as_str(),
                new.turn.as_str(),
                new.call.as_str(),
                new.kind,
                new.digest,
                new.body.to_string(),
                new.address.platform.as_str(),
                new.address.chat.as_str(),
                new.address.thread.as_ref().map(AsRef::<str>::as_ref),
                new.address.user.as_ref().map(AsRef::<str>::as_ref),
                new.opened_ms,
                new.expires_ms,
            ])
        })
        .map_err(failed)?;
    find(connection, &new.id)?
        .ok_or_else(|| StoreError::Failed("a question is not there after it was kept".to_owned()))
}

/// The question that the same call has put before, word for word, and that nobody has taken.
fn before(
    connection: &Connection,
    new: &NewQuestion,
) -> Result<Option<QuestionRecord>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM questions WHERE session = ?1 AND turn = ?2 AND call = ?3 \
         AND kind = ?4 AND digest = ?5 AND body = ?6 AND state IN ('open', 'answered')"
    );
    connection
        .prepare_cached(&sql)
        .and_then(|mut sql| {
            let key = params![
                new.session.as_str(),
                new.turn.as_str(),
                new.call.as_str(),
                new.kind,
                new.digest,
                new.body.to_string(),
            ];
            sql.query_row(key, read).optional()
        })
        .map_err(failed)
}

fn answer(
    connection: &Connection,
    id: &QuestionId,
    given: &QuestionAnswer,
) -> Result<AnswerOutcome, StoreError> {
    let text = serde_json::to_string(given).map_err(|e| StoreError::Failed(e.to_string()))?;
    let sql = "UPDATE questions SET state = 'answered', answer = ?2 \
               WHERE id = ?1 AND state = 'open' AND expires_ms >= ?3";
    let changed =
        connection.execute(sql, params![id.as_str(), text, given.at_ms]).map_err(failed)?;
    if changed == 1 {
        return Ok(AnswerOutcome::Counts);
    }
    Ok(match find(connection, id)?.map(|record| record.state) {
        None => AnswerOutcome::Unknown,
        // Whoever asked may be dead; should it come back, the question gets new time.
        Some(QuestionState::Open) => {
            AnswerOutcome::Late(QuestionState::Closed(NotAnswered::Expired))
        }
        Some(state) => AnswerOutcome::Late(state),
    })
}

fn take(connection: &Connection, id: &QuestionId) -> Result<Option<QuestionAnswer>, StoreError> {
    let sql = "UPDATE questions SET state = 'taken' WHERE id = ?1 AND state = 'answered'";
    if connection.execute(sql, [id.as_str()]).map_err(failed)? == 0 {
        return Ok(None);
    }
    Ok(match find(connection, id)?.map(|record| record.state) {
        Some(QuestionState::Taken(answer)) => Some(answer),
        _ => None,
    })
}

fn close(connection: &Connection, id: &QuestionId, how: NotAnswered) -> Result<(), StoreError> {
    let sql = "UPDATE questions SET state = ?2 WHERE id = ?1 AND state = 'open'";
    connection.execute(sql, params![id.as_str(), how.as_str()]).map(drop).map_err(failed)
}

fn find(connection: &Connection, id: &QuestionId) -> Result<Option<QuestionRecord>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM questions WHERE id = ?1");
    connection
        .prepare_cached(&sql)
        .and_then(|mut sql| sql.query_row([id.as_str()], read).optional())
        .map_err(failed)
}

/// Calls that wait for a person and have had no effect: an approval whose call has not begun, or a
/// question that is all that its call does.
pub(crate) fn waiting(
    connection: &Connection,
    session: &SessionId,
) -> Result<Vec<String>, StoreError> {
    let sql = "SELECT q.call FROM questions q WHERE q.session = ?1 \
               AND q.state IN ('open', 'answered') AND (q.kind = 'choice' OR NOT EXISTS \
               (SELECT 1 FROM calls c WHERE c.session = q.session AND c.call = q.call))";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let found = statement.query_map([session.as_str()], |row| row.get(0)).map_err(failed)?;
    found.collect::<Result<_, _>>().map_err(failed)
}

/// What nobody waits for any more: the questions of a session but for those of these calls.
pub(crate) fn cancel(
    connection: &Connection,
    session: &SessionId,
    except: &[String],
) -> Result<(), StoreError> {
    let except = serde_json::to_string(except).map_err(|e| StoreError::Failed(e.to_string()))?;
    let sql = "UPDATE questions SET state = 'cancelled' WHERE session = ?1 \
               AND state IN ('open', 'answered') \
               AND call NOT IN (SELECT value FROM json_each(?2))";
    connection.execute(sql, params![session.as_str(), except]).map(drop).map_err(failed)
}

/// Removes the questions of a session.
pub(crate) fn forget(connection: &Connection, session: &SessionId) -> Result<(), StoreError> {
    let sql = "DELETE FROM questions WHERE session = ?1";
    connection.execute(sql, [session.as_str()]).map(drop).map_err(failed)
}

fn read(row: &Row<'_>) -> rusqlite::Result<QuestionRecord> {
    let text = |at: usize| row.get::<_, String>(at);
    let body = serde_json::from_str(&text(7)?).map_err(|error| unreadable(7, error))?;
    let answer: Option<String> = row.get(15)?;
    let answer: Option<QuestionAnswer> = answer
        .map(|answer| serde_json::from_str(&answer).map_err(|error| unreadable(15, error)))
        .transpose()?;
    let state = match (text(14)?.as_str(), answer) {
        ("open", _) => QuestionState::Open,
        ("answered", Some(answer)) => QuestionState::Answered(answer),
        ("taken", Some(answer)) => QuestionState::Taken(answer),
        ("expired", _) => QuestionState::Closed(NotAnswered::Expired),
        ("withdrawn", _) => QuestionState::Closed(NotAnswered::Withdrawn),
        _ => QuestionState::Closed(NotAnswered::Cancelled),
    };
    let address = Address {
        platform: text(8)?.into(),
        chat: text(9)?.into(),
        thread: row.get::<_, Option<String>>(10)?.map(Into::into),
        user: row.get::<_, Option<String>>(11)?.map(Into::into),
    };
    let asked = NewQuestion {
        id: QuestionId::new(text(0)?),
        session: text(2)?.into(),
        turn: text(3)?.into(),
        call: text(4)?.into(),
        kind: text(5)?,
        digest: text(6)?,
        body,
        address,
        opened_ms: row.get(12)?,
        expires_ms: row.get(13)?,
    };
    Ok(QuestionRecord { asked, number: row.get(1)?, state })
}

fn unreadable(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
