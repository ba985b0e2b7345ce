//! PostgreSQL: one connection, one statement, its rows. Protocol 3 over a bare connection.
//!
//! Reading is enforced by the server: the statement runs in a read-only transaction whose snapshot
//! is already taken, so that no statement can leave it, and only what the server describes as
//! giving rows is run at all. The transaction is never committed. What no transaction undoes are
//! functions that reach past it (files, other sessions, other servers): `calls` finds them.

mod calls;
mod scram;
mod wire;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use petasos_contract::{Secret, wait};
use petasos_net::stream::{self, Protection};
use petasos_net::{Url, Wire};
use serde_json::Value;

use self::wire::{Answer, Conversation};

const PORT: u16 = 5432;

/// Why a database gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostgresError {
    /// The address cannot be used.
    #[error("{0}")]
    Address(String),
    /// No connection.
    #[error("cannot connect to `{host}`: {reason}")]
    Connect {
        /// The host.
        host: String,
        /// The system's word.
        reason: String,
    },
    /// The password is missing, wrong, or asked for in a way that gives it away.
    #[error("{0}")]
    Auth(String),
    /// The server does not speak as it should.
    #[error("the server does not keep to its protocol: {0}")]
    Protocol(String),
    /// The server refused the statement.
    #[error("{message} (SQLSTATE {code})")]
    Server {
        /// Five characters.
        code: String,
        /// Its words.
        message: String,
    },
    /// Only reading is permitted, and the statement gives no rows.
    #[error("the statement gives no rows, so that it is not run: the connection is for reading")]
    NotReading,
    /// Only reading is permitted, and the statement calls functions that may do more.
    #[error("`{0}` may do more than read, and the connection is for reading")]
    Calls(String),
    /// It took too long.
    #[error("the database did not answer within {0} s")]
    Slow(u64),
}

/// How a database is reached.
#[derive(Debug, Clone)]
pub struct Address {
    /// The host.
    pub host: String,
    /// Its port.
    pub port: u16,
    user: String,
    database: String,
    password: Option<Secret>,
    is_encrypted: bool,
    ca_cert: Option<PathBuf>,
}

impl Address {
    /// Reads `postgres://user@host:port/database?sslmode=…`. A password does not belong there. What
    /// leaves this machine is encrypted unless the address says `sslmode=disable`.
    pub fn read(
        text: &str,
        password: Option<Secret>,
        ca_cert: Option<PathBuf>,
    ) -> Result<Self, PostgresError> {
        let bad = |why: &str| PostgresError::Address(format!("the address of the database {why}"));
        let url = Url::parse(text).map_err(|error| bad(&format!("cannot be read: {error}")))?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(bad("does not begin with postgres://"));
        }
        if url.password().is_some() {
            return Err(bad("holds a password; name a variable in `password_env` instead"));
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| bad("names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let user = url.username();
        let user = if user.is_empty() { "postgres" } else { user }.to_owned();
        let database = url.path().trim_start_matches('/');
        let database = if database.is_empty() { user.as_str() } else { database }.to_owned();
        let mode = url.query_pairs().find(|(name, _)| name == "sslmode");
        let is_encrypted = match mode.as_ref().map(|(_, mode)| mode.as_ref()) {
            Some("disable") => false,
            Some("require" | "verify-ca" | "verify-full") => true,
            None => !is_here(&host),
            Some(other) => {
                let why = format!("has sslmode={other}; disable or verify-full are known");
                return Err(bad(&why));
            }
        };
        let port = url.port().unwrap_or(PORT);
        Ok(Self { host, port, user, database, password, is_encrypted, ca_cert })
    }
}

fn is_here(host: &str) -> bool {
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The statement.
    pub sql: String,
    /// Its parameters: `$1`, `$2`, …
    pub params: Vec<Value>,
    /// At most so many rows.
    pub rows_max: usize,
    /// Whether it may change something.
    pub writes: bool,
    /// How long it may take.
    pub within: Duration,
}

/// What the database answered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
    /// Whether there are more.
    pub truncated: bool,
    /// What the server says it did: `SELECT 3`, `INSERT 0 1`.
    pub tag: String,
}

/// Asks a database.
pub async fn query(address: &Address, ask: &Ask) -> Result<Rows, PostgresError> {
    let deadline = Instant::now() + ask.within;
    let asked = asked(address, ask);
    match wait::until(deadline, "a database", asked).await {
        Ok(rows) => rows,
        Err(_) => Err(PostgresError::Slow(ask.within.as_secs())),
    }
}

async fn asked(address: &Address, ask: &Ask) -> Result<Rows, PostgresError> {
    let stream = connect(address).await?;
    let mut server = Conversation::new(stream);
    server.begin(&address.user, &address.database).await?;
    authenticate(&mut server, address).await?;
    // The server gives up when nobody waits any more.
    let most = ask.within.as_millis();
    server.simple(&format!("SET statement_timeout = {most}")).await?;
    if !ask.writes {
        server.simple("BEGIN TRANSACTION READ ONLY").await?;
        // From its first snapshot on a transaction cannot be made to write.
        server.simple("SELECT 1").await?;
        calls::refuse(&mut server, &ask.sql).await?;
    }
    let columns = server.prepare(&ask.sql).await?;
    if columns.is_empty() && !ask.writes {
        return Err(PostgresError::NotReading);
    }
    let found = server.execute(&columns, &ask.params, ask.rows_max).await?;
    server.leave().await;
    Ok(found)
}

async fn connect(address: &Address) -> Result<Box<dyn Wire>, PostgresError> {
    let failed = |error: std::io::Error| PostgresError::Connect {
        host: address.host.clone(),
        reason: error.to_string(),
    };
    let stream = stream::connect(&address.host, address.port, Protection::Bare).await;
    let stream = stream.map_err(failed)?;
    if !address.is_encrypted {
        return Ok(stream);
    }
    let stream = wire::ask_for_encryption(stream).await?;
    let protection = match &address.ca_cert {
        Some(file) => Protection::Pinned(file),
        None => Protection::Trusted,
    };
    stream::encrypt(stream, &address.host, protection).await.map_err(failed)
}

async fn authenticate(server: &mut Conversation, address: &Address) -> Result<(), PostgresError> {
    let password = || {
        let missing = "the server wants a password: name a variable in `password_env`";
        let password = address.password.as_ref();
        password.ok_or_else(|| PostgresError::Auth(missing.to_owned()))
    };
    loop {
        match server.answer().await? {
            Answer::Welcome => {}
            Answer::Ready => return Ok(()),
            Answer::WantsPassword => {
                if !address.is_encrypted && !is_here(&address.host) {
                    let why = "the server wants the password in the clear over a connection that \
                               is not encrypted";
                    return Err(PostgresError::Auth(why.to_owned()));
                }
                server.password(password()?.expose()).await?;
            }
            Answer::WantsScram => scram::run(server, password()?).await?,
            Answer::WantsOther(kind) => {
                let why = format!("the server wants a login of kind {kind}, which is not spoken");
                return Err(PostgresError::Auth(why));
            }
            other => return Err(PostgresError::Protocol(format!("{other:?} during the login"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_holds_no_password_and_is_encrypted_unless_it_stays_here() {
        let read = |text: &str| Address::read(text, None, None);
        let near = read("postgres://ada@127.0.0.1:15432/books").unwrap();
        assert_eq!((near.port, near.is_encrypted, near.user.as_str()), (15432, false, "ada"));
        let far = read("postgresql://db.example/books").unwrap();
        assert_eq!((far.port, far.is_encrypted, far.user.as_str()), (5432, true, "postgres"));
        assert!(!read("postgres://db.example/b?sslmode=disable").unwrap().is_encrypted);
        for bad in
            ["postgres://a:b@h/x", "mysql://h/x", "postgres:///x", "postgres://h/x?sslmode=prefer"]
        {
            assert!(matches!(read(bad), Err(PostgresError::Address(_))), "{bad}");
        }
    }
}
