//! Tokens as files that only their owner reads, changed under a lock that every process sees.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rmcp::transport::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};

/// How long a refresh of another process is waited for.
const LOCK: Duration = Duration::from_secs(40);
const POLL: Duration = Duration::from_millis(20);

/// The tokens of one server.
#[derive(Debug, Clone)]
pub struct Kept {
    folder: PathBuf,
    name: String,
}

/// A client as the server knows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Registered {
    pub(super) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
}

impl Kept {
    /// In this home, for this server.
    pub(super) fn new(home: &Path, server: &str) -> Self {
        Self { folder: home.join("mcp-tokens"), name: super::super::register::part(server) }
    }

    /// Whether there are tokens.
    pub fn exists(&self) -> bool {
        self.file("json").is_file()
    }

    /// Removes everything of the server.
    pub fn forget(&self) -> io::Result<()> {
        for kind in ["json", "previous.json", "client.json", "lock"] {
            match std::fs::remove_file(self.file(kind)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", self.name))
    }

    pub(super) fn registered(&self) -> Option<Registered> {
        serde_json::from_slice(&std::fs::read(self.file("client.json")).ok()?).ok()
    }

    pub(super) fn register(&self, client: &Registered) -> Result<(), AuthError> {
        self.write("client.json", client).map_err(store)
    }

    /// Whole or not at all, readable by the owner only.
    fn write(&self, kind: &str, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(value)?;
        Ok(petasos_fs::write(&self.file(kind), &text, petasos_fs::Mode::Exactly(0o600))?)
    }

    fn read(&self) -> io::Result<Option<StoredCredentials>> {
        match std::fs::read(self.file("json")) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open_lock(&self) -> io::Result<File> {
        std::fs::create_dir_all(&self.folder)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(self.file("lock"))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn store(error: impl ToString) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait]
impl CredentialStore for Kept {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.read().map_err(store)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        // The generation before stays, for the day on which the new one turns out bad.
        let (now, before) = (self.file("json"), self.file("previous.json"));
        if now.is_file() {
            std::fs::copy(&now, &before).map_err(store)?;
        }
        self.write("json", &credentials).map_err(store)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        match std::fs::remove_file(self.file("json")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(store(error)),
            _ => Ok(()),
        }
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let file = self.open_lock().map_err(store)?;
        let until = Instant::now() + LOCK;
        while let Err(error) = file.try_lock() {
            if Instant::now() > until {
                return Err(store(format!("another process refreshes the tokens: {error}")));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(Some(CredentialRefreshGuard::new(file)))
    }
}
