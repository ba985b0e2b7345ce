//! Databases that are not ours, read for whoever asks: the door that walls a database engine in.

use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::SessionId;
use petasos_contract::ports::Memory;
use serde_json::Value;

use crate::sessions::Later;

/// One statement for a database file.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlAsk {
    /// The file; it is never made.
    pub path: PathBuf,
    /// One statement.
    pub sql: String,
    /// Its parameters, by place.
    pub params: Vec<Value>,
    /// At most so many rows.
    pub rows_max: usize,
    /// Whether it may change the file.
    pub writes: bool,
    /// How long it may take.
    pub within: Duration,
}

/// What a database answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SqlRows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// Whether there are more.
    pub truncated: bool,
    /// How many rows were changed, where the database says so.
    pub changed: Option<u64>,
}

/// Opens database files of others.
pub trait SqlFiles: Send + Sync {
    /// Runs one statement. Without `writes` the engine itself refuses every change, whatever the
    /// text says, and no other file is reached from it.
    fn query(&self, ask: SqlAsk) -> Later<'_, SqlRows>;
}

/// The door as a port.
pub struct Databases(pub Arc<dyn SqlFiles>);

impl Databases {
    /// The one that a port holds.
    pub fn of(port: Option<&Arc<dyn Memory>>) -> Option<Arc<dyn SqlFiles>> {
        let port: Arc<dyn Any + Send + Sync> = Arc::clone(port?) as _;
        port.downcast::<Self>().ok().map(|it| Arc::clone(&it.0))
    }
}

impl fmt::Debug for Databases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Databases")
    }
}

impl Memory for Databases {
    fn forget(&self, _: &SessionId) {}
}
