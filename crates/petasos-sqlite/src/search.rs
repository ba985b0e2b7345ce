//! Full text over everything that was ever said.
//!
//! Words by FTS5's word index, scripts without spaces and substrings by its trigram index, and one
//! or two letters by looking. Ranking sees the newest matches only: a word that is everywhere
//! ranks nothing, and a search must not take longer than a blink.

mod snippet;
mod terms;

use std::collections::{BTreeMap, BTreeSet};

use petasos_store::{Hit, Query, Sort, StoreError};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::sqlite::failed;
use crate::{owners, sessions};
use terms::Terms;

/// So many of the newest matches that are wanted are ranked.
const RANKED_MAX: usize = 200;
/// So many of the newest matches are looked at for wanted ones.
const SEEN_MAX: usize = 20_000;
/// One conversation offers so many of them when only its best one is shown.
const OF_ROOT_MAX: usize = 25;
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

/// What is asked for, with the lineage to leave out.
struct Wish<'a> {
    query: &'a Query,
    except: Option<String>,
}

/// Searches.
pub(crate) fn search(connection: &Connection, query: &Query) -> Result<Vec<Hit>, StoreError> {
    let (table, expression, marks) = match terms::read(&query.text) {
        Terms::Nothing => return Ok(Vec::new()),
        Terms::Plain(text) => (None, text.clone(), vec![text]),
        Terms::Words { expression, marks } => (Some("messages_words"), expression, marks),
        Terms::Pieces { expression, marks } => (Some("messages_trigrams"), expression, marks),
    };
    // A conversation that is not there leaves nothing out.
    let except = match &query.except {
        Some(session) => sessions::head(connection, session).ok().map(|head| head.root),
        None => None,
    };
    let wish = Wish { query, except };
    let mut matches = matching(connection, &wish, table, &expression)?;
    if matches.is_empty() && table == Some("messages_words") && is_substring(&marks) {
        // No word is like this, but a part of one may be.
        matches = matching(connection, &wish, Some("messages_trigrams"), &expression)?;
    }
    let limit = if query.limit == 0 { HITS_USUAL } else { query.limit };
    let mut seen = BTreeSet::new();
    let mut hits = Vec::new();
    for found in matches {
        if query.one_per_lineage && !seen.insert(found.root.clone()) {
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

/// The matches that are wanted, in the order in which they are shown.
///
/// Rows are taken off the index newest first, looked at, and ranked only when they are wanted, so
/// that a filter never hides what lies behind the newest matches, and a word that is everywhere
/// costs no more than a rare one.
fn matching(
    connection: &Connection,
    wish: &Wish<'_>,
    table: Option<&str>,
    expression: &str,
) -> Result<Vec<Match>, StoreError> {
    let query = wish.query;
    let (wanted, mut values) = wanted(wish);
    let (place, pattern) = match table {
        Some(table) => (format!("{table} MATCH ?1"), expression.to_owned()),
        None => ("content LIKE ?1 ESCAPE '\\'".to_owned(), like(expression)),
    };
    values.insert(0, Value::Text(pattern));
    let (source, seq) = table.map_or(("messages", "id"), |table| (table, "rowid"));
    let ranked = table.is_some() && query.sort == Sort::Best;
    let score = if ranked { "rank" } else { "0.0" };
    let order = if query.sort == Sort::Oldest { "ASC" } else { "DESC" };
    let within = match query.only {
        Some(_) => format!("AND {seq} BETWEEN ?{} AND ?{}", values.len() + 1, values.len() + 2),
        None => String::new(),
    };
    if let Some(only) = &query.only {
        let (first, last) = reach(connection, only.as_str())?;
        values.extend([Value::Integer(first), Value::Integer(last)]);
    }
    let sql = format!(
        "SELECT m.id, m.role, m.at_ms, m.session, s.root, f.score FROM \
         (SELECT {seq} AS seq, {score} AS score FROM {source} WHERE {place} {within} \
          ORDER BY {seq} {order} LIMIT {SEEN_MAX}) f \
         CROSS JOIN messages m ON m.id = f.seq CROSS JOIN sessions s ON s.id = m.session \
         WHERE 1 = 1 {wanted}"
    );
    let mut statement = connection.prepare_cached(&sql).map_err(failed)?;
    let rows = statement
        .query_map(params_from_iter(values), |row| {
            let found = Match {
                seq: row.get(0)?,
                role: row.get(1)?,
                at_ms: row.get(2)?,
                session: row.get(3)?,
                root: row.get(4)?,
            };
            Ok((row.get::<_, f64>(5)?, found))
        })
        .map_err(failed)?;
    let mut of_root: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for row in rows {
        let (score, one) = row.map_err(failed)?;
        if query.one_per_lineage {
            let so_far = of_root.entry(one.root.clone()).or_default();
            *so_far += 1;
            if *so_far > OF_ROOT_MAX {
                continue;
            }
        }
        found.push((score, one));
        if found.len() == RANKED_MAX {
            break;
        }
    }
    // Stable: matches of one score keep the order of the index.
    found.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok(found.into_iter().map(|(_, found)| found).collect())
}

/// Which matches are wanted, as a condition; its first value is number 2.
fn wanted(wish: &Wish<'_>) -> (String, Vec<Value>) {
    let query = wish.query;
    let mut condition = String::new();
    if !query.all_sources {
        condition = format!("{condition} AND s.source NOT IN {}", sessions::HIDDEN_SOURCES);
    }
    let mut values: Vec<Value> = Vec::new();
    if !query.roles.is_empty() {
        let places: Vec<String> = (0..query.roles.len()).map(|at| format!("?{}", at + 2)).collect();
        condition = format!("{condition} AND m.role IN ({})", places.join(", "));
        values.extend(query.roles.iter().cloned().map(Value::Text));
    }
    if let Some(only) = &query.only {
        values.push(Value::Text(only.to_string()));
        condition = format!("{condition} AND m.session = ?{}", values.len() + 1);
    }
    let (seen, mut owned) = owners::seen(&query.scope, values.len() + 2);
    condition = format!("{condition} {seen}");
    values.append(&mut owned);
    if let Some(root) = &wish.except {
        values.push(Value::Text(root.clone()));
        condition = format!("{condition} AND s.root <> ?{}", values.len() + 1);
    }
    (condition, values)
}

/// The first and last row of a conversation; nothing matches when it has none.
fn reach(connection: &Connection, session: &str) -> Result<(i64, i64), StoreError> {
    let sql = "SELECT coalesce(min(id), 0), coalesce(max(id), -1) FROM messages WHERE session = ?1";
    connection
        .prepare_cached(sql)
        .and_then(|mut sql| sql.query_row([session], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(failed)
}

/// A pattern that finds just this text.
fn like(text: &str) -> String {
    let plain = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    format!("%{plain}%")
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
