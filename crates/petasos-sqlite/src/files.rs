//! Database files of others: opened for one statement, and read only unless somebody agreed.
//!
//! Nothing here reads SQL text. The file is opened so that it cannot be written, the engine says
//! itself whether a statement changes anything, and its authoriser keeps it to this one file.

use std::sync::Arc;
use std::time::Instant;

use petasos_contract::wait;
use petasos_store::{Later, SqlAsk, SqlFiles, SqlRows, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::fallible_iterator::FallibleIterator as _;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Batch, Connection, OpenFlags, Statement, params_from_iter};
use serde_json::{Number, Value, json};

/// The longest text or blob that a statement may make: nobody is shown more.
const VALUE_BYTES_MAX: i32 = 16 << 20;
/// So many bytes of rows are enough for anybody.
const ROWS_BYTES_MAX: usize = 4 << 20;
/// Pragmas that tell about the file and change nothing when they are given no value.
const TELLING: [&str; 20] = [
    "application_id",
    "auto_vacuum",
    "collation_list",
    "compile_options",
    "database_list",
    "encoding",
    "foreign_key_check",
    "foreign_key_list",
    "freelist_count",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "journal_mode",
    "page_count",
    "page_size",
    "quick_check",
    "schema_version",
    "user_version",
];
/// The same, which take what they tell about as their value.
const ABOUT: [&str; 9] = [
    "foreign_key_check",
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_xinfo",
];

/// Opens SQLite files.
#[derive(Debug, Clone, Copy, Default)]
pub struct SqliteFiles;

impl SqliteFiles {
    /// As a trait object.
    pub fn shared() -> Arc<dyn SqlFiles> {
        Arc::new(Self)
    }
}

impl SqlFiles for SqliteFiles {
    fn query(&self, ask: SqlAsk) -> Later<'_, SqlRows> {
        Box::pin(async move {
            let deadline = Instant::now() + ask.within;
            let opened = open(&ask)?;
            let interrupt = opened.get_interrupt_handle();
            let work = tokio::task::spawn_blocking(move || run(&opened, &ask));
            match wait::until(deadline, "a query", work).await {
                Ok(Ok(rows)) => rows,
                Ok(Err(error)) => {
                    Err(StoreError::Failed(format!("the query ended early: {error}")))
                }
                Err(_) => {
                    interrupt.interrupt();
                    Err(StoreError::Slow { what: "a query" })
                }
            }
        })
    }
}

fn open(ask: &SqlAsk) -> Result<Connection, StoreError> {
    let mode = if ask.writes {
        OpenFlags::SQLITE_OPEN_READ_WRITE
    } else {
        OpenFlags::SQLITE_OPEN_READ_ONLY
    };
    // Without the flag for URIs a path is a path. It was judged with its links followed: one that is
    // there by now leads elsewhere.
    let flags = mode | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(&ask.path, flags).map_err(told)?;
    connection.busy_timeout(ask.within).map_err(told)?;
    if !ask.writes {
        connection.pragma_update(None, "query_only", true).map_err(told)?;
    }
    // What a stranger's file says about itself runs none of the engine's riskier functions.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false).map_err(told)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(told)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX).map_err(told)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0).map_err(told)?;
    connection.authorizer(Some(within_file)).map_err(told)?;
    Ok(connection)
}

/// Another file is another question, and so is the engine itself: some pragmas bind the whole
/// process, and with it our own store.
fn within_file(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => Authorization::Deny,
        AuthAction::Function { function_name }
            if function_name.eq_ignore_ascii_case("load_extension") =>
        {
            Authorization::Deny
        }
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let is_among =
                |list: &[&str]| list.iter().any(|it| it.eq_ignore_ascii_case(pragma_name));
            let tells = match pragma_value {
                None => is_among(&TELLING) || is_among(&ABOUT) || is_among(&["table_list"]),
                Some(_) => is_among(&ABOUT) || is_among(&["table_list"]),
            };
            if tells { Authorization::Allow } else { Authorization::Deny }
        }
        _ => Authorization::Allow,
    }
}

fn run(connection: &Connection, ask: &SqlAsk) -> Result<SqlRows, StoreError> {
    let mut batch = Batch::new(connection, &ask.sql);
    let refused = |why: &str| StoreError::Failed(why.to_owned());
    let mut statement =
        batch.next().map_err(told)?.ok_or_else(|| refused("there is no statement"))?;
    if batch.next().map_err(told)?.is_some() {
        return Err(refused("there is more than one statement: ask one at a time"));
    }
    if !ask.writes && !statement.readonly() {
        return Err(refused(
            "the statement would change the database, which is opened for reading",
        ));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let params = ask.params.iter().map(cell);
    if columns.is_empty() {
        let changed = statement.execute(params_from_iter(params)).map_err(told)?;
        let changed = ask.writes.then(|| u64::try_from(changed).unwrap_or(u64::MAX));
        return Ok(SqlRows { changed, ..SqlRows::default() });
    }
    rows(&mut statement, columns, params_from_iter(params), ask.rows_max)
}

fn rows(
    statement: &mut Statement<'_>,
    columns: Vec<String>,
    params: impl rusqlite::Params,
    most: usize,
) -> Result<SqlRows, StoreError> {
    let width = columns.len();
    let mut found = SqlRows { columns, ..SqlRows::default() };
    let mut left = statement.query(params).map_err(told)?;
    let mut bytes = 0_usize;
    while let Some(row) = left.next().map_err(told)? {
        for at in 0..width {
            let cell = row.get_ref(at).map_err(told)?;
            bytes = bytes.saturating_add(cell.as_str().map_or(8, str::len));
        }
        if found.rows.len() == most || bytes > ROWS_BYTES_MAX {
            found.truncated = true;
            break;
        }
        let cells = (0..width).map(|at| row.get_ref(at).map(shown).map_err(told));
        found.rows.push(cells.collect::<Result<_, _>>()?);
    }
    Ok(found)
}

fn shown(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => Number::from_f64(number).map_or(Value::Null, Value::Number),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => json!({ "blob_bytes": bytes.len() }),
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(flag) => Cell::Integer(i64::from(*flag)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cell::Integer(whole),
            (None, Some(real)) => Cell::Real(real),
            (None, None) => Cell::Text(number.to_string()),
        },
        Value::String(text) => Cell::Text(text.clone()),
        other => Cell::Text(other.to_string()),
    }
}

/// What the engine said, without what only concerns our own file.
fn told(error: rusqlite::Error) -> StoreError {
    match error {
        rusqlite::Error::SqlInputError { msg, .. } => StoreError::Failed(msg),
        error => StoreError::Failed(error.to_string()),
    }
}
