//! The auth store, `auth.json`: logins and pools, readable by their owner only.
//!
//! Reading never writes. A write takes the lock, reads again, changes, and puts the new file in
//! place in one step; the file before it stays beside it as `auth.json.previous`.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use petasos_contract::Secret;
use serde_json::{Map, Value, json};

use crate::credential::borrowed::{Unreadable, json as read_json};
use crate::credential::keyring::Absent;
use crate::credential::login::Login;
use crate::credential::pool::Entry;
use crate::credential::{jwt, now_ms};

pub(crate) const LOCK_WAIT: Duration = Duration::from_secs(15);

/// The store's content. Its `Debug` shows names and no values.
#[derive(Clone, Default, PartialEq)]
pub struct AuthFile(Map<String, Value>);

impl fmt::Debug for AuthFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |section: &str| -> Vec<&String> {
            self.0
                .get(section)
                .and_then(Value::as_object)
                .map_or_else(Vec::new, |map| map.keys().collect())
        };
        f.debug_struct("AuthFile")
            .field("providers", &names("providers"))
            .field("credential_pool", &names("credential_pool"))
            .finish()
    }
}

impl AuthFile {
    /// Reads the store of a home; a missing one is empty.
    pub fn read(home: &Path) -> Result<Self, Unreadable> {
        Ok(read_json(&home.join("auth.json"))?.map_or_else(Self::default, Self::from_value))
    }

    /// Takes the store's content; anything but an object is empty.
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::Object(map) => Self(map),
            _ => Self::default(),
        }
    }

    /// Takes over from another store what this one lacks, provider by provider; never written.
    pub(crate) fn fall_back_on(&mut self, other: &Self) {
        for section in ["providers", "credential_pool"] {
            let Some(Value::Object(theirs)) = other.0.get(section).cloned() else { continue };
            within(&mut self.0, &[section], |ours| {
                for (name, value) in theirs {
                    ours.entry(name).or_insert(value);
                }
            });
        }
        if let Some(active) = other.0.get("active_provider") {
            self.0.entry("active_provider").or_insert_with(|| active.clone());
        }
    }

    /// The login of a provider.
    pub fn login(&self, provider: &str) -> Option<Login> {
        Login::from_value(self.0.get("providers")?.get(provider)?)
    }

    /// A provider's own object, for details that only it knows.
    pub fn provider(&self, provider: &str) -> Option<&Value> {
        self.0.get("providers")?.get(provider)
    }

    /// The provider that was logged in to last.
    pub fn active_provider(&self) -> Option<&str> {
        self.0.get("active_provider")?.as_str().filter(|text| !text.is_empty())
    }

    /// Providers with a login.
    pub fn logged_in(&self) -> Vec<&str> {
        let providers = self.0.get("providers").and_then(Value::as_object);
        providers.map_or_else(Vec::new, |map| {
            map.iter()
                .filter(|(_, value)| Login::from_value(value).is_some())
                .map(|(name, _)| name.as_str())
                .collect()
        })
    }

    /// The entries of a pool.
    pub fn pool(&self, pool: &str) -> Vec<Entry> {
        let entries = self.0.get("credential_pool").and_then(|pools| pools.get(pool)?.as_array());
        entries.map_or_else(Vec::new, |list| list.iter().filter_map(Entry::from_value).collect())
    }

    /// The names of all pools.
    pub fn pools(&self) -> Vec<&str> {
        let pools = self.0.get("credential_pool").and_then(Value::as_object);
        pools.map_or_else(Vec::new, |map| map.keys().map(String::as_str).collect())
    }

    /// Changes the login of a provider, making its object when there is none.
    pub fn set_login(&mut self, provider: &str, login: &Login) {
        within(&mut self.0, &["providers", provider], |object| login.write_into(object));
    }

    /// Makes a provider the active one.
    pub fn set_active(&mut self, provider: &str) {
        self.0.insert("active_provider".to_owned(), json!(provider));
    }

    /// Forgets a login; whether there was one.
    pub fn forget(&mut self, provider: &str) -> bool {
        if self.active_provider() == Some(provider) {
            self.0.remove("active_provider");
        }
        within(&mut self.0, &["providers"], |all| all.remove(provider).is_some())
    }

    /// Sets one detail of a provider.
    pub fn set_detail(&mut self, provider: &str, name: &str, value: Value) {
        within(&mut self.0, &["providers", provider], |object| {
            object.insert(name.to_owned(), value)
        });
    }

    /// Puts an entry into its pool, in the place of the one with the same id.
    pub fn set_entry(&mut self, pool: &str, entry: &Entry) {
        self.in_pool(pool, |list| {
            let known = list.iter_mut().find(|value| has_id(value, &entry.id));
            if let Some(object) = known.and_then(Value::as_object_mut) {
                return entry.write_into(object);
            }
            let mut object = Map::new();
            entry.write_into(&mut object);
            list.push(Value::Object(object));
        });
    }

    /// Puts a secret that is kept elsewhere into a picture of the store; never written.
    pub(crate) fn fill_secret(&mut self, pool: &str, id: &str, secret: &Secret) {
        self.in_pool(pool, |list| {
            let entry = list.iter_mut().find(|value| has_id(value, id));
            if let Some(object) = entry.and_then(Value::as_object_mut) {
                object.insert("access_token".to_owned(), json!(secret.expose()));
            }
        });
    }

    /// Removes an entry and remembers its source, so that nothing brings it back.
    pub fn remove_entry(&mut self, pool: &str, id: &str) -> bool {
        let gone = self.in_pool(pool, |list| {
            list.iter().position(|value| has_id(value, id)).map(|at| list.remove(at))
        });
        let Some(gone) = gone else { return false };
        if let Some(source) = gone.get("source").cloned() {
            within(&mut self.0, &["suppressed_sources"], |all| {
                let list = all.entry(pool.to_owned()).or_insert_with(|| json!([]));
                if let Some(list) = list.as_array_mut() {
                    list.push(source);
                }
            });
        }
        true
    }

    fn in_pool<T>(&mut self, pool: &str, work: impl FnOnce(&mut Vec<Value>) -> T) -> T {
        within(&mut self.0, &["credential_pool"], |pools| {
            let mut list = match pools.remove(pool) {
                Some(Value::Array(list)) => list,
                _ => Vec::new(),
            };
            let answer = work(&mut list);
            pools.insert(pool.to_owned(), Value::Array(list));
            answer
        })
    }
}

fn has_id(value: &Value, id: &str) -> bool {
    value.get("id").and_then(Value::as_str) == Some(id)
}

/// Works on the object at a path, making it and those above it when they are not there.
fn within<T>(
    here: &mut Map<String, Value>,
    path: &[&str],
    work: impl FnOnce(&mut Map<String, Value>) -> T,
) -> T {
    let Some((name, rest)) = path.split_first() else { return work(here) };
    let mut inner = match here.remove(*name) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let answer = within(&mut inner, rest, work);
    here.insert((*name).to_owned(), Value::Object(inner));
    answer
}

/// Why the store could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody holds the lock.
    #[error("`{}` is held by another process for too long; try again", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// The disk said no.
    #[error("`{}` cannot be written: {cause}", path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// The system's word.
        #[source]
        cause: io::Error,
    },
    /// The keyring that should keep a key does not answer.
    #[error(transparent)]
    Keyring(#[from] Absent),
}

/// A lock that other processes honour; it ends with the value.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for a lock file of the home, without blocking the runtime.
    pub async fn take(home: &Path, name: &str, patience: Duration) -> Result<Self, StoreError> {
        let path = home.join(name);
        let disk = |cause| StoreError::Disk { path: path.clone(), cause };
        private_dir(home).map_err(disk)?;
        let file = private(OpenOptions::new().create(true).truncate(false).write(true))
            .open(&path)
            .map_err(disk)?;
        let deadline = Instant::now() + patience;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path }),
                Err(TryLockError::Error(cause)) => return Err(disk(cause)),
            }
        }
    }
}

/// Changes the store under its lock: read, change, write. Gives back what `change` gives.
pub async fn update<T>(
    home: &Path,
    change: impl FnOnce(&mut AuthFile) -> T,
) -> Result<T, StoreError> {
    let _lock = Lock::take(home, "auth.lock", LOCK_WAIT).await?;
    let path = home.join("auth.json");
    let mut file = match AuthFile::read(home) {
        Ok(file) => file,
        Err(problem) => {
            tracing::warn!("{problem}; it is kept as `auth.json.corrupt`");
            let kept = home.join("auth.json.corrupt");
            fs::copy(&path, &kept).map_err(|cause| StoreError::Disk { path: kept, cause })?;
            AuthFile::default()
        }
    };
    let answer = change(&mut file);
    file.0.insert("version".to_owned(), json!(1));
    file.0.insert("updated_at".to_owned(), json!(jwt::format_date(now_ms())));
    write_private(&path, &Value::Object(file.0))?;
    Ok(answer)
}

/// Puts a JSON file in place in one step, readable by its owner only; the one before it is kept
/// beside it. A link is followed: the file it names is replaced, not the link.
pub fn write_private(path: &Path, content: &Value) -> Result<(), StoreError> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let disk = |cause: io::Error| StoreError::Disk { path: path.to_owned(), cause };
    let folder = real.parent().unwrap_or(Path::new("."));
    private_dir(folder).map_err(disk)?;
    let mut text = serde_json::to_vec_pretty(content).map_err(|error| disk(error.into()))?;
    text.push(b'\n');
    // The temporary file is made with owner-only permissions before the first byte is in it.
    let mut draft = tempfile::NamedTempFile::new_in(folder).map_err(disk)?;
    draft.write_all(&text).map_err(disk)?;
    draft.as_file().sync_all().map_err(disk)?;
    // A new token that cannot be written is lost, an old one merely has no copy: this may fail.
    if let Err(error) = keep_previous(&real) {
        tracing::warn!("`{}` is replaced without a copy: {error}", real.display());
    }
    draft.persist(&real).map_err(|error| disk(error.error))?;
    sync_folder(folder);
    Ok(())
}

/// Makes the renaming itself durable, where a folder can be synced at all.
fn sync_folder(folder: &Path) {
    if let Err(error) = File::open(folder).and_then(|folder| folder.sync_all()) {
        tracing::debug!("`{}` cannot be synced: {error}", folder.display());
    }
}

fn keep_previous(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".previous");
    let previous = path.with_file_name(name);
    match fs::remove_file(&previous) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // A second name for the old content: it keeps its permissions and costs no copy. Some file
    // systems have no second names.
    fs::hard_link(path, &previous).or_else(|_| fs::copy(path, &previous).map(|_| ()))
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(unix)]
fn private_dir(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn private_dir(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(test)]
mod tests;
