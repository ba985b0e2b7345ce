//! The keyring of the operating system: a place for keys that no file holds.
//!
//! New keys go there when one is at hand (`security.keyring`); the auth store keeps only a mark of
//! each. A service that is missing or locked is absent and never waited for longer than two
//! seconds. It is asked only for keys that were put there, so that nobody else pays for it.

#[cfg(not(target_os = "macos"))]
mod bus;
#[cfg(target_os = "macos")]
mod keychain;
#[cfg(not(target_os = "macos"))]
mod secret_service;
#[cfg(not(target_os = "macos"))]
mod wire;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use petasos_contract::{Secret, Settings};
use serde_json::Value;

use crate::credential::VaultView;
use crate::credential::pool::Entry;
use crate::credential::store::AuthFile;

/// How long the service may take: a desktop that is not there never answers.
const WITHIN: Duration = Duration::from_secs(2);

/// Why the keyring could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the keyring of the operating system is not at hand: {why}; unlock it, or set `security.keyring: off`"
)]
pub struct Absent {
    /// What happened.
    pub why: String,
}

impl Absent {
    /// An absence for this reason.
    pub fn because(why: impl fmt::Display) -> Self {
        Self { why: why.to_string() }
    }
}

/// A place that keeps secrets by account. Its calls may block.
pub trait Keyring: fmt::Debug + Send + Sync {
    /// The secret of an account, if there is one.
    fn get(&self, account: &str) -> Result<Option<Secret>, Absent>;
    /// Keeps a secret.
    fn set(&self, account: &str, secret: &Secret) -> Result<(), Absent>;
    /// Forgets a secret; one that is not there is forgotten already.
    fn remove(&self, account: &str) -> Result<(), Absent>;
}

/// What the user wants done with keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Keep them in the store's own file, and ask no keyring.
    Never,
    /// Keep them in the keyring where there is one; else in the file, and say so.
    WhenPresent,
    /// Keep them in the keyring, or not at all.
    Required,
}

impl Wish {
    /// The wish of a snapshot.
    pub fn of(settings: &Settings) -> Self {
        match settings.get("security.keyring") {
            Some(Value::String(word)) if word == "off" => Self::Never,
            Some(Value::String(word)) if word == "required" => Self::Required,
            Some(Value::Bool(false)) => Self::Never,
            _ => Self::WhenPresent,
        }
    }
}

/// The keyring of this machine and session.
pub fn of_system(settings: &Settings) -> Arc<dyn Keyring> {
    #[cfg(target_os = "macos")]
    return Arc::new(keychain::Keychain::of(settings));
    #[cfg(not(target_os = "macos"))]
    Arc::new(secret_service::SecretService { bus: bus::address(settings) })
}

/// The account of a pool's entry. Homes are apart, as their files are.
pub fn account(home: &Path, pool: &str, id: &str) -> String {
    format!("{pool}/{id} in {}", home.display())
}

/// Does something with a keyring and waits a bounded time. What hangs is left behind with its
/// thread: a call into the service cannot be called back.
pub fn within<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Absent> + Send + 'static,
) -> Result<T, Absent> {
    let (tell, told) = mpsc::sync_channel(1);
    let work = move || {
        // Nobody listens any more when the answer is late.
        if tell.send(work()).is_err() {
            tracing::debug!("the keyring answered too late");
        }
    };
    let thread = std::thread::Builder::new().name("keyring".to_owned());
    thread.spawn(work).map_err(Absent::because)?;
    told.recv_timeout(WITHIN).unwrap_or_else(|_| {
        Err(Absent::because(format!("it did not answer within {} s", WITHIN.as_secs())))
    })
}

/// The same without blocking the runtime.
pub async fn soon<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Absent> + Send + 'static,
) -> Result<T, Absent> {
    let done = tokio::task::spawn_blocking(move || within(work)).await;
    done.unwrap_or_else(|error| Err(Absent::because(error)))
}

/// An entry whose secret is elsewhere.
#[derive(Debug, Clone)]
struct Mark {
    pool: String,
    id: String,
    account: String,
}

/// The secrets that a store lacks, before they are fetched.
#[derive(Debug)]
pub(crate) struct Asked {
    keyring: Arc<dyn Keyring>,
    marks: Vec<Mark>,
}

/// A pool and the id of its entry.
pub(crate) type Place = (String, String);

/// What the keyring said of each mark.
pub(crate) type Fetched = Result<Vec<(Place, Option<Secret>)>, Absent>;

impl Asked {
    /// What to ask for; nothing when no key was ever put there. A keyring that is switched off is
    /// named, because a key is in it.
    pub(crate) fn of(
        keyring: Option<&Arc<dyn Keyring>>,
        homes: &[&Path],
        view: &mut VaultView,
    ) -> Option<Self> {
        let marks = marks(homes, &view.store);
        let first = marks.first()?;
        let Some(keyring) = keyring else {
            view.problems.push(format!(
                "a key for `{}` is in the keyring, which is switched off; set \
                 `security.keyring: auto`, or log in again",
                first.pool
            ));
            return None;
        };
        Some(Self { keyring: Arc::clone(keyring), marks })
    }

    /// Asks, in the calling thread.
    pub(crate) fn fetch(self) -> Fetched {
        let mut found: Vec<(Place, Option<Secret>)> = Vec::new();
        for mark in self.marks {
            let place = (mark.pool, mark.id);
            let known = found.iter().position(|(known, _)| *known == place);
            if known.is_some_and(|at| found.get(at).is_some_and(|(_, got)| got.is_some())) {
                continue;
            }
            let secret = self.keyring.get(&mark.account)?;
            match known.and_then(|at| found.get_mut(at)) {
                Some((_, empty)) => *empty = secret,
                None => found.push((place, secret)),
            }
        }
        Ok(found)
    }
}

/// A profile uses keys of its own home and of the one above.
fn marks(homes: &[&Path], store: &AuthFile) -> Vec<Mark> {
    let mut marks = Vec::new();
    for pool in store.pools() {
        for entry in store.pool(pool).into_iter().filter(Entry::is_in_keyring) {
            marks.extend(homes.iter().map(|home| Mark {
                pool: pool.to_owned(),
                id: entry.id.clone(),
                account: account(home, pool, &entry.id),
            }));
        }
    }
    marks
}

/// Puts what was fetched into the picture, and names what is missing.
pub(crate) fn fill(view: &mut VaultView, fetched: Fetched) {
    match fetched {
        Err(absent) => view.problems.push(absent.to_string()),
        Ok(found) => {
            for ((pool, id), secret) in found {
                match secret {
                    Some(secret) => view.store.fill_secret(&pool, &id, &secret),
                    None => view.problems.push(format!(
                        "the keyring no longer has the key `{id}` of `{pool}`; \
                         run `petasos auth login {pool} --key-stdin`"
                    )),
                }
            }
        }
    }
}
