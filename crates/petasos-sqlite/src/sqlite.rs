//! Opening the file: permissions, journal, limits, and what SQLite's errors mean for people.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use petasos_store::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags};

/// The name of the file in the agent home.
pub const FILE_NAME: &str = "petasos.db";
/// How often, and how many times, a connection looks whether another process still writes.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS_MAX: i32 = 500;

/// What an answered write survives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The death of the process; after a power cut the last moments may be gone.
    #[default]
    Process,
    /// A power cut too, at the price of one disk flush for each write.
    Power,
}

/// How the file is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Where it is; made when it is not there.
    pub path: PathBuf,
    /// What an answered write survives.
    pub durability: Durability,
}

impl OpenOptions {
    /// The usual way.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), durability: Durability::default() }
    }
}

/// The connection that writes. The second value is something a person should know.
pub(crate) fn open_writer(
    options: &OpenOptions,
) -> Result<(Connection, Option<String>), StoreError> {
    match prepare_file(&options.path) {
        Err(StoreError::ReadOnly) if options.path.is_file() => {
            let notice = "the session database cannot be written here: conversations can be read, \
                          not continued";
            return Ok((open_unwritable(&options.path)?, Some(notice.to_owned())));
        }
        done => done?,
    }
    let mut connection = Connection::open(&options.path).map_err(failed)?;
    connection.busy_handler(Some(busy)).map_err(failed)?;
    prepare_pages(&connection)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(failed)?;
    let notice = (!mode.eq_ignore_ascii_case("wal")).then(|| {
        format!(
            "the session database `{}` cannot use a write-ahead log here (it uses `{mode}`): other \
             processes will wait while one writes",
            options.path.display()
        )
    });
    let synchronous = match options.durability {
        Durability::Process => "NORMAL",
        Durability::Power => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous).map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    connection.pragma_update(None, "wal_autocheckpoint", 1000).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok((connection, notice))
}

/// What is deleted is overwritten, and its pages can be given back bit by bit. The latter is said
/// to a file that is still empty: an older one is converted when it is first compacted, and one
/// that a newer version made is not ours to touch.
pub(crate) fn prepare_pages(connection: &Connection) -> Result<(), StoreError> {
    let pages: i64 =
        connection.query_row("PRAGMA page_count", [], |row| row.get(0)).map_err(failed)?;
    if pages == 0 {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(failed)?;
    }
    // It answers with what it is now.
    let sql = "PRAGMA secure_delete = ON";
    connection.query_row(sql, [], |_| Ok(())).map_err(failed)
}

/// A connection that cannot write.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    if prepare_file(path) == Err(StoreError::ReadOnly) {
        return open_unwritable(path);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_handler(Some(busy)).map_err(failed)?;
    connection.pragma_update(None, "query_only", true).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A connection to a file that nobody can write here. Without a log beside it, it is opened as one
/// that never changes, because the index of a log could not be made.
fn open_unwritable(path: &Path) -> Result<Connection, StoreError> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            other => uri = format!("{uri}%{other:02x}"),
        }
    }
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let way = if Path::new(&log).exists() { "?mode=ro" } else { "?immutable=1" };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let mut connection = Connection::open_with_flags(uri + way, flags).map_err(failed)?;
    connection.busy_handler(Some(busy)).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Conversations hold secrets: the file belongs to its owner alone from its first byte on.
pub(crate) fn prepare_file(path: &Path) -> Result<(), StoreError> {
    let io = |error: std::io::Error| match error.kind() {
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => StoreError::ReadOnly,
        _ => StoreError::Failed(format!("`{}`: {error}", path.display())),
    };
    if let Some(folder) = path.parent() {
        let mut make = std::fs::DirBuilder::new();
        make.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        make.create(folder).map_err(io)?;
    }
    let mut file = std::fs::OpenOptions::new();
    file.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file.open(path).map(drop).map_err(io)
}

/// Looks often: a long job of another process leaves the file to others for moments only.
fn busy(looks: i32) -> bool {
    std::thread::sleep(LOOK);
    looks < LOOKS_MAX
}

/// Whether another process stands in the way.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// What an error of SQLite means.
pub(crate) fn failed(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { detail: error.to_string() }
        }
        _ if is_busy(&error) => StoreError::Slow { what: "another process writes to it" },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly,
        Some(ErrorCode::OperationInterrupted) => StoreError::Slow { what: "a query" },
        _ => StoreError::Failed(match error {
            // The statement is no news to anybody but us.
            rusqlite::Error::SqlInputError { msg, .. } => msg,
            error => error.to_string(),
        }),
    }
}
