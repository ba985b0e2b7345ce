//! What people do to the vault: log in, log out, add a key, wake a resting one; and what it looks
//! like to them.

use std::sync::Arc;

use petasos_contract::{Secret, Settings};
use serde::Serialize;

use crate::credential::keyring::{Absent, Wish};
use crate::credential::login::Login;
use crate::credential::pool::{Entry, KEYRING, Status, Strategy};
use crate::credential::store::{StoreError, update};
use crate::credential::{Vault, VaultView, jwt, keyring};
use crate::resolve::view::masked;
use crate::resolve::{Request, resolve};
use crate::runtime::PoolRef;

impl Vault {
    /// Keeps a login that has just worked and makes its provider the active one. Logins renew
    /// themselves under the lock of the store's own file, and so live there.
    pub async fn log_in(&self, provider: &str, login: &Login) -> Result<Place, StoreError> {
        let file = Place::File { because: None };
        if provider == "copilot" {
            // The GitHub token is a key to be exchanged, and may sit beside others.
            let Some(secret) = login.access.clone() else { return Ok(file) };
            return self.add_key(provider, "device_code", secret).await.map(|kept| kept.place);
        }
        update(self.home(), |file| {
            let generation = file.login(provider).map_or(0, |before| before.generation + 1);
            file.set_login(provider, &Login { generation, ..login.clone() });
            file.set_active(provider);
        })
        .await?;
        Ok(file)
    }

    /// Keeps a further login of a provider beside the first, as an entry of its pool; its id there.
    pub async fn add_login(&self, provider: &str, login: &Login) -> Result<String, StoreError> {
        let id: String = login.access.as_ref().map_or_else(String::new, |secret| {
            super::usable::fingerprint(secret).chars().skip("sha256:".len()).take(6).collect()
        });
        update(self.home(), |file| {
            // The first login joins the pool, so that both are asked in turn.
            let first = file.login(provider).filter(|_| file.pool(provider).is_empty());
            for (place, login) in first.iter().chain([login]).enumerate() {
                let last = file.pool(provider).iter().map(|entry| entry.priority).max();
                let mut entry = Entry {
                    id: if place == 0 && first.is_some() { FIRST.to_owned() } else { id.clone() },
                    label: "login".to_owned(),
                    oauth: true,
                    priority: last.map_or(0, |last| last + 1),
                    source: "device_code".to_owned(),
                    secret: None,
                    refresh: None,
                    status: Status::Ok,
                    reset_at_ms: None,
                    expires_at_ms: None,
                    request_count: 0,
                    base_url: login.base_url.clone(),
                };
                entry.take_login(login);
                file.set_entry(provider, &entry);
            }
            // One refresh token in two places would be used up by the one and refused to the other.
            if first.is_some() {
                file.forget(provider);
            }
            file.set_active(provider);
            id
        })
        .await
    }

    /// Forgets a login and the keys kept for a provider; whether there was anything.
    pub async fn log_out(&self, provider: &str) -> Result<bool, StoreError> {
        let (forgotten, kept) = update(self.home(), |file| {
            let entries = file.pool(provider);
            let removed =
                entries.iter().filter(|entry| file.remove_entry(provider, &entry.id)).count();
            let kept: Vec<Entry> = entries.into_iter().filter(Entry::is_in_keyring).collect();
            (file.forget(provider) || removed > 0, kept)
        })
        .await?;
        for entry in kept {
            let keyring = Arc::clone(self.keyring().0);
            let account = keyring::account(self.home(), provider, &entry.id);
            keyring::soon(move || keyring.remove(&account)).await?;
        }
        Ok(forgotten)
    }

    /// Forgets one key of a provider's pool; whether it was there.
    pub async fn remove_key(&self, provider: &str, id: &str) -> Result<bool, StoreError> {
        let removed = update(self.home(), |file| {
            let entry = file.pool(provider).into_iter().find(|entry| entry.id == id);
            entry.filter(|entry| file.remove_entry(provider, &entry.id))
        })
        .await?;
        if removed.as_ref().is_some_and(Entry::is_in_keyring) {
            let keyring = Arc::clone(self.keyring().0);
            let account = keyring::account(self.home(), provider, id);
            keyring::soon(move || keyring.remove(&account)).await?;
        }
        Ok(removed.is_some())
    }

    /// Adds a key to a provider's pool: in the keyring where the user wants it and there is one,
    /// else in the store's own file. When the user insists on the keyring and it does not answer,
    /// nothing is kept: a file would be weaker than what was asked for.
    pub async fn add_key(
        &self,
        provider: &str,
        source: &str,
        secret: Secret,
    ) -> Result<Kept, StoreError> {
        let id: String =
            super::usable::fingerprint(&secret).chars().skip("sha256:".len()).take(6).collect();
        let place = self.drawer(provider, &id, &secret).await?;
        let kept_by = if place == Place::Keyring { KEYRING } else { source };
        update(self.home(), |file| {
            let last = file.pool(provider).iter().map(|entry| entry.priority).max();
            let entry = Entry {
                id: id.clone(),
                label: source.to_owned(),
                oauth: false,
                priority: last.map_or(0, |last| last + 1),
                source: kept_by.to_owned(),
                secret: Some(secret),
                refresh: None,
                status: Status::Ok,
                reset_at_ms: None,
                expires_at_ms: None,
                request_count: 0,
                base_url: None,
            };
            file.set_entry(provider, &entry);
            Kept { id, place }
        })
        .await
    }

    /// Puts a secret into the keyring, or says why a file has to do.
    async fn drawer(&self, provider: &str, id: &str, secret: &Secret) -> Result<Place, StoreError> {
        let (keyring, wish) = self.keyring();
        if wish == Wish::Never {
            return Ok(Place::File { because: None });
        }
        let (keyring, secret) = (Arc::clone(keyring), secret.clone());
        let account = keyring::account(self.home(), provider, id);
        match keyring::soon(move || keyring.set(&account, &secret)).await {
            Ok(()) => Ok(Place::Keyring),
            Err(absent) if wish == Wish::Required => Err(absent.into()),
            Err(absent) => Ok(Place::File { because: Some(absent) }),
        }
    }

    /// Counts a use of a pool's entry, for the strategies that go by it.
    pub async fn count_use(&self, used: &PoolRef, settings: &Settings) -> Result<(), StoreError> {
        if !Strategy::of(&used.pool, settings).counts() {
            return Ok(());
        }
        update(self.pool_holder(&used.pool), |file| {
            let entry = file.pool(&used.pool).into_iter().find(|entry| entry.id == used.entry);
            if let Some(mut entry) = entry {
                entry.request_count += 1;
                file.set_entry(&used.pool, &entry);
            }
        })
        .await
    }

    /// Wakes every resting key of a provider; how many there were.
    pub async fn reset(&self, provider: &str) -> Result<usize, StoreError> {
        update(self.home(), |file| {
            let resting =
                file.pool(provider).into_iter().filter(|entry| entry.status == Status::Exhausted);
            let resting: Vec<Entry> = resting.collect();
            for entry in &resting {
                let awake = Entry { status: Status::Ok, reset_at_ms: None, ..entry.clone() };
                file.set_entry(provider, &awake);
            }
            resting.len()
        })
        .await
    }
}

/// The id of the first login once it is in a pool.
const FIRST: &str = "000000";

/// A key that was added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its id in the pool.
    pub id: String,
    /// Where its secret is.
    pub place: Place,
}

/// Where a secret is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In the keyring of the operating system.
    Keyring,
    /// In the store's own file, which only its owner can read.
    File {
        /// Why not in the keyring, when the user would have had it there.
        because: Option<Absent>,
    },
}

/// One credential as `auth status` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusLine {
    /// The provider or pool.
    pub provider: String,
    /// What `auth remove` calls it, for entries of a pool.
    pub id: Option<String>,
    /// Where the credential comes from.
    pub source: String,
    /// `ready`, `renews_itself`, `resting`, `ended`, `needs_login`, `out_of_reach` or `dead`.
    pub state: &'static str,
    /// The secret, masked.
    pub secret: Option<String>,
    /// When it ends, or when it may be used again.
    pub until: Option<String>,
    /// Why a person is needed.
    pub problem: Option<String>,
}

/// Every credential of a snapshot: keys in variables, logins, pools, other programs' files.
pub fn status(settings: &Settings, view: &VaultView) -> Vec<StatusLine> {
    let mut lines = Vec::new();
    for provider in view.table.providers() {
        for name in provider.key_env.iter().filter(|name| settings.variable(name).is_some()) {
            let value = settings.variable(name).map(|variable| variable.value.expose());
            let good = super::usable::usable(value.unwrap_or_default());
            lines.push(StatusLine {
                provider: provider.id.clone(),
                id: None,
                source: format!("env:{name}"),
                state: if good.is_ok() { "ready" } else { "dead" },
                secret: good.as_ref().ok().map(|good| masked(&good.secret)),
                until: None,
                problem: good.err().map(|why| why.to_string()),
            });
        }
    }
    for id in view.store.logged_in() {
        lines.extend(
            view.store.login(id).map(|login| of_login(id, "hermes-auth-store", &login, view)),
        );
    }
    let claude = view
        .claude_code
        .as_ref()
        .map(|file| of_login("anthropic", "claude_code", &file.login, view));
    let codex = view
        .codex_cli
        .as_ref()
        .map(|file| of_login("openai-codex", "codex-cli", &file.login, view));
    let qwen =
        view.qwen_cli.as_ref().map(|file| of_login("qwen-oauth", "qwen-cli", &file.login, view));
    lines.extend(claude.into_iter().chain(codex).chain(qwen));
    for pool in view.store.pools() {
        lines.extend(view.store.pool(pool).iter().map(|entry| of_entry(pool, entry, view.now_ms)));
    }
    lines
}

fn of_login(provider: &str, source: &str, login: &Login, view: &VaultView) -> StatusLine {
    let due = login.is_due(view.now_ms, 0);
    let state = match (login.dead.is_some(), due, login.refresh.is_some()) {
        (true, _, _) => "needs_login",
        (false, _, true) => "renews_itself",
        (false, true, false) => "ended",
        (false, false, false) => "ready",
    };
    StatusLine {
        provider: provider.to_owned(),
        id: None,
        source: source.to_owned(),
        state,
        secret: login.access.as_ref().map(masked),
        until: login.expires_at_ms.map(jwt::format_date),
        problem: login.dead.clone(),
    }
}

fn of_entry(pool: &str, entry: &Entry, now_ms: u64) -> StatusLine {
    let state = match entry.status {
        Status::Dead => "dead",
        Status::Exhausted if !entry.is_rested(now_ms) => "resting",
        _ if entry.is_in_keyring() && entry.secret.is_none() => "out_of_reach",
        Status::Ok | Status::Exhausted => "ready",
    };
    StatusLine {
        provider: pool.to_owned(),
        id: Some(entry.id.clone()),
        source: format!("pool:{} ({})", entry.id, entry.source),
        state,
        secret: entry.secret.as_ref().map(masked),
        until: entry.reset_at_ms.or(entry.expires_at_ms).map(jwt::format_date),
        problem: None,
    }
}

/// Whether a provider could be used now, and if not, why.
pub fn readiness(provider: &str, settings: &Settings, view: &VaultView) -> Result<(), String> {
    let outcome = resolve(&Request::of(provider), settings, view).outcome;
    outcome.map(|_| ()).map_err(|error| error.code.to_owned())
}
