//! Full text over everything that was ever said.
//!
//! Words by FTS5's word index, scripts without spaces and substrings by its trigram index, and one
//! or two letters by looking. Ranking sees the newest matches only: a word that is everywhere
//! ranks nothing, and a search must not take longer than a blink.

mod snippet;
mod terms;

use std::collections::BTreeSet;

use petasos_contract::store::{Hit, Query, Sort, StoreError};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::sessions;
use crate::sqlite::failed;
use terms::Terms;

/// So many of the newest matches are ranked.
const RANKED_MAX: usize = 400;
/// How many hits there are when nobody says otherwise.
const HITS_USUAL: usize = 20;

/// A match before it is known whether it is wanted.
struct Match {
    seq: i64,
    role: String,
    at_ms: i64,
    session: String,
    root: String,
}

/// Searches.
pub(crate) fn search(connection: &Connection, query: &Query) -> Result<Vec<Hit>, StoreError> {
    let (table, expression, marks) = match terms::read(&query.text) {
        Terms::Nothing => return Ok(Vec::new()),
        Terms::Plain(text) => (None, text.clone(), vec![text]),
        Terms::Words { expression, marks } => (Some("messages_words"), expression, marks),
        Terms::Pieces { expression, marks } => (Some("messages_trigrams"), expression, marks),
    };
    let mut matches = matching(connection, query, table, &expression)?;
    if matches.is_empty() && table == Some("messages_words") && is_substring(&marks) {
        // No word is like this, but a part of one may be.
        matches = matching(connection, query, Some("messages_trigrams"), &expression)?;
    }
    let except = match &query.except {
        Some(session) => sessions::head(connection, session).ok().map(|head| head.root),
        None => None,
    };
    let limit = if query.limit == 0 { HITS_USUAL } else { query.limit };
    let mut seen = BTreeSet::new();
    let mut hits = Vec::new();
    for found in matches {
        let known = query.one_per_lineage && !seen.insert(found.root.clone());
        if known || except.as_deref() == Some(found.root.as_str()) {
            continue;
        }
        hits.push(hit(connection, found, &marks)?);
        if hits.len() == limit {
            break;
        }
    }
    Ok(hits)
}

/// One plain word of at least three letters can be looked for inside of words.
fn is_substring(marks: &[String]) -> bool {
    marks.iter().all(|mark| mark.chars().count() >= 3)
}

fn matching(
    connection: &Connection,
    query: &Query,
    table: Option<&str>,
    expression: &str,
) -> Result<Vec<Match>, StoreError> {
    let mut values: Vec<Value> = Vec::new();
    let mut wanted = String::new();
    if !query.all_sources {
        wanted = format!("{wanted} AND s.source NOT IN {}", sessions::HIDDEN_SOURCES);
    }
    let newest = if query.sort == Sort::Oldest { "ASC" } else { "DESC" };
    let (from, order) = if let Some(table) = table {
        values.push(Value::Text(expression.to_owned()));
        let from = format!(
            "(SELECT rowid AS seq, rank AS score FROM {table} WHERE {table} MATCH ?1 \
             ORDER BY rowid {newest} LIMIT {RANKED_MAX})"
        );
        let order = if query.sort == Sort::Best { "f.score, f.seq DESC" } else { "1 = 1" };
        (from, order.to_owned())
    } else {
        let pattern = expression.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        values.push(Value::Text(format!("%{pattern}%")));
        let from = format!(
            "(SELECT id AS seq, 0 AS score FROM messages WHERE content LIKE ?1 ESCAPE '\\' \
             ORDER BY id {newest} LIMIT {RANKED_MAX})"
        );
        (from, "1 = 1".to_owned())
    };
    for role in &query.roles {
        values.push(Value::Text(role.clone()));
    }
    if !query.roles.is_empty() {
        let places: Vec<String> = (0..query.roles.len()).map(|at| format!("?{}", at + 2)).collect();
        wanted = format!("{wanted} AND m.role IN ({})", places.join(", "));
    }
    if let Some(only) = &query.only {
        values.push(Value::Text(only.to_string()));
        wanted = format!("{wanted} AND m.session = ?{}", values.len());
    }
    let last = if order == "1 = 1" { format!("f.seq {newest}") } else { order };
    let sql = format!(
        "SELECT m.id, m.role, m.at_ms, m.session, s.root FROM {from} f \
         CROSS JOIN messages m ON m.id = f.seq JOIN sessions s ON s.id = m.session \
         WHERE 1 = 1 {wanted} ORDER BY {last}"
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let rows = statement
        .query_map(params_from_iter(values), |row| {
            Ok(Match {
                seq: row.get(0)?,
                role: row.get(1)?,
                at_ms: row.get(2)?,
                session: row.get(3)?,
                root: row.get(4)?,
            })
        })
        .map_err(failed)?;
    rows.collect::<Result<Vec<_>, _>>().map_err(failed)
}

fn hit(connection: &Connection, found: Match, marks: &[String]) -> Result<Hit, StoreError> {
    let sql = "SELECT coalesce(substr(content, 1, 20000), ''), coalesce(substr(calls, 1, 4000), '') \
               FROM messages WHERE id = ?1";
    let (content, calls): (String, String) = connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.query_row([found.seq], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(failed)?;
    let snippet = snippet::around(&content, marks)
        .or_else(|| snippet::around(&calls, marks))
        .unwrap_or_else(|| snippet::start(&content));
    let session = sessions::head(connection, &found.session.as_str().into())?;
    Ok(Hit { session, seq: found.seq, role: found.role, at_ms: found.at_ms, snippet })
}
