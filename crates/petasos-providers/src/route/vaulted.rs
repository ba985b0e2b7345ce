//! Routes through the resolver and the vault: what every surface uses.
//!
//! Each question sees the files as they are now, so that a login made meanwhile counts. A
//! credential that is about to end is renewed before it is used.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::context::Surface;
use petasos_contract::model::{Reason, Role};
use petasos_contract::{BoxFuture, CallContext, Settings};
use petasos_net::client::Net;

use super::{Routes, Unroutable};
use crate::credential::copilot::{self, Exchange};
use crate::credential::pool::{self, Entry, Strategy, Trouble};
use crate::credential::refresh::{self, Why};
use crate::credential::spec::Renewal;
use crate::credential::store::{self, AuthFile};
use crate::credential::{Vault, now_ms};
use crate::failure::Failure;
use crate::fallback::Wanted;
use crate::resolve::{Request, resolve};
use crate::runtime::{ProviderRuntime, Source};

/// Routes of this machine's configuration and logins.
#[derive(Debug)]
pub struct VaultRoutes {
    net: Arc<Net>,
    exchange: Exchange,
}

impl VaultRoutes {
    /// Routes that renew logins through this way out.
    pub fn new(net: Arc<Net>) -> Self {
        Self { net, exchange: Exchange::default() }
    }

    fn look(
        wanted: &Wanted,
        selection: Selection,
        settings: &Settings,
    ) -> Result<ProviderRuntime, Unroutable> {
        let request = Request {
            provider: wanted.provider.clone(),
            model: wanted.model.clone(),
            base_url: wanted.base_url.clone(),
            api_key: wanted.api_key.clone(),
            key_env: wanted.key_env.clone(),
            ignores_selection_variable: selection == Selection::Ignored,
            ..Request::default()
        };
        let view = Vault::of(settings).view(settings);
        resolve(&request, settings, &view).outcome.map_err(|error| Unroutable {
            provider: error.provider.unwrap_or_else(|| "auto".to_owned()),
            code: error.code.to_owned(),
            message: match error.hint {
                Some(hint) => format!("{}; {hint}", error.message),
                None => error.message,
            },
        })
    }

    async fn find(
        &self,
        wanted: &Wanted,
        selection: Selection,
        settings: &Settings,
    ) -> Result<ProviderRuntime, Unroutable> {
        let runtime = Self::look(wanted, selection, settings)?;
        if needs_exchange(&runtime) {
            return Ok(self.exchanged(wanted, runtime, settings).await);
        }
        let due = runtime.expiry.is_some_and(|expiry| expiry.is_due(now_ms()));
        if !due {
            return Ok(runtime);
        }
        match self.renew(&runtime, settings, Why::Expiring).await {
            Renewed::Yes(renewed) => Ok(*renewed),
            // It may still be accepted; if not, the refusal is handled like any other.
            Renewed::No => Ok(runtime),
            Renewed::NeedsPerson(message) => Err(Unroutable {
                provider: runtime.provider,
                code: "relogin_required".to_owned(),
                message,
            }),
        }
    }

    /// Copilot's API takes an exchanged token; when the exchange fails it may take the raw one.
    async fn exchanged(
        &self,
        wanted: &Wanted,
        runtime: ProviderRuntime,
        settings: &Settings,
    ) -> ProviderRuntime {
        let Some(credential) = &runtime.credential else { return runtime };
        let login = match self.exchange.ask(&credential.secret, &self.net).await {
            Ok(login) => login,
            Err(error) => {
                tracing::warn!(%error, "the Copilot token was not exchanged");
                return runtime;
            }
        };
        if let Err(error) = copilot::keep(&Vault::of(settings), &credential.secret, &login).await {
            tracing::warn!(%error, "the exchanged Copilot token was not kept");
        }
        Self::look(wanted, Selection::Counts, settings).unwrap_or(runtime)
    }

    async fn renew(&self, runtime: &ProviderRuntime, settings: &Settings, why: Why) -> Renewed {
        let vault = Vault::of(settings);
        let Some(renewal) = Renewal::of(runtime, &vault, settings) else {
            return Renewed::No;
        };
        let seen = runtime.credential.as_ref().map(|credential| &credential.secret);
        match refresh::refresh(&renewal, seen, why, &self.net).await {
            Ok(login) => {
                let fresh = login.access.filter(|access| Some(access) != seen);
                let renewed = fresh.and_then(|access| {
                    let mut renewed = runtime.clone();
                    renewed.credential.as_mut()?.secret = access;
                    if let Some(expiry) = &mut renewed.expiry {
                        expiry.at_ms = login.expires_at_ms;
                    }
                    Some(Box::new(renewed))
                });
                renewed.map_or(Renewed::No, Renewed::Yes)
            }
            Err(error) => {
                tracing::warn!(%error, provider = runtime.provider, "a login was not renewed");
                if error.needs_person() {
                    Renewed::NeedsPerson(error.to_string())
                } else {
                    Renewed::No
                }
            }
        }
    }

    async fn again(
        &self,
        runtime: &ProviderRuntime,
        settings: &Settings,
    ) -> Option<ProviderRuntime> {
        let seen = runtime.credential.as_ref().map(|credential| credential.secret.clone());
        if runtime.provider == "copilot" {
            let home = settings.home().to_owned();
            if let Err(error) = store::update(&home, |file| file.forget("copilot")).await {
                tracing::warn!(%error, "the refused Copilot token was not forgotten");
            }
            let wanted = Wanted {
                provider: Some("copilot".to_owned()),
                model: runtime.model.clone(),
                ..Wanted::default()
            };
            let renewed = self.find(&wanted, Selection::Counts, settings).await.ok()?;
            let fresh = renewed.credential.as_ref().map(|credential| &credential.secret);
            return (fresh != seen.as_ref()).then_some(renewed);
        }
        match self.renew(runtime, settings, Why::Refused).await {
            Renewed::Yes(renewed) => Some(*renewed),
            Renewed::No | Renewed::NeedsPerson(_) => None,
        }
    }
}

/// Whether the variable that selects a provider counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selection {
    Counts,
    Ignored,
}

enum Renewed {
    Yes(Box<ProviderRuntime>),
    No,
    NeedsPerson(String),
}

/// Whether a Copilot credential is still GitHub's own token.
fn needs_exchange(runtime: &ProviderRuntime) -> bool {
    let secret = runtime.credential.as_ref().map_or("", |credential| credential.secret.expose());
    runtime.provider == "copilot"
        && ["gho_", "ghu_", "github_pat_"].iter().any(|start| secret.starts_with(start))
}

impl Routes for VaultRoutes {
    fn resolve<'a>(
        &'a self,
        wanted: &'a Wanted,
        _: Role,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<ProviderRuntime, Unroutable>> {
        // A scheduled job must not follow a variable that happens to be set where it runs.
        let is_job = cx.surface == Surface::Cron;
        let selection = if is_job { Selection::Ignored } else { Selection::Counts };
        Box::pin(self.find(wanted, selection, &cx.settings))
    }

    fn can_refresh(&self, runtime: &ProviderRuntime) -> bool {
        let renewable = [Source::AuthStore, Source::ClaudeCode, Source::QwenCli];
        let pooled = runtime.pool.is_some() && runtime.expiry.is_some_and(|it| it.refreshable);
        renewable.contains(&runtime.source) || pooled || runtime.provider == "copilot"
    }

    fn refresh<'a>(
        &'a self,
        runtime: &'a ProviderRuntime,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Option<ProviderRuntime>> {
        Box::pin(self.again(runtime, settings))
    }

    fn can_rotate(&self, runtime: &ProviderRuntime, settings: &Settings) -> bool {
        let Some(used) = &runtime.pool else { return false };
        let entries = AuthFile::read(settings.home()).map(|file| file.pool(&used.pool));
        let now = now_ms();
        let other = |entry: &Entry| entry.id != used.entry && entry.is_available(now);
        entries.is_ok_and(|entries| entries.iter().any(other))
    }

    fn rotate<'a>(
        &'a self,
        runtime: &'a ProviderRuntime,
        failure: &'a Failure,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Option<ProviderRuntime>> {
        Box::pin(rotate(runtime, failure, settings))
    }
}

/// Marks the entry that failed and takes the next one of the same pool.
async fn rotate(
    runtime: &ProviderRuntime,
    failure: &Failure,
    settings: &Settings,
) -> Option<ProviderRuntime> {
    let used = runtime.pool.as_ref()?;
    let strategy = settings.text(&format!("credential_pool_strategies.{}", used.pool));
    let strategy = Strategy::parse(strategy);
    let now = now_ms();
    let reset = failure.retry_after.and_then(|wait| now.checked_add(millis(wait)?));
    let changed = store::update(settings.home(), |file| {
        let mut entries = file.pool(&used.pool);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.id == used.entry) {
            // The advice is not asked for: `recover` has already decided to leave this key.
            pool::fail(entry, trouble(failure), now, reset);
            file.set_entry(&used.pool, entry);
        }
        entries.retain(|entry| entry.id != used.entry);
        pool::select(&entries, strategy, now, now).cloned()
    });
    let entry = match changed.await {
        Ok(entry) => entry?,
        Err(error) => {
            tracing::warn!(%error, "the credential pool could not be changed");
            return None;
        }
    };
    let mut rotated = runtime.clone();
    rotated.credential.as_mut()?.secret = entry.secret?;
    rotated.pool.as_mut()?.entry = entry.id;
    Some(rotated)
}

fn millis(wait: Duration) -> Option<u64> {
    u64::try_from(wait.as_millis()).ok()
}

fn trouble(failure: &Failure) -> Trouble {
    const REVOKED: [&str; 5] = [
        "token_invalidated",
        "token_revoked",
        "invalid_token",
        "invalid_grant",
        "refresh_token_reused",
    ];
    let code = failure.code.as_deref().unwrap_or_default();
    match failure.reason {
        Reason::RateLimit => Trouble::QuotaUsed,
        Reason::UpstreamRateLimit => Trouble::UpstreamBusy,
        Reason::Billing => Trouble::Unpaid,
        Reason::Auth if REVOKED.contains(&code) => Trouble::Revoked,
        Reason::Auth if failure.status == Some(403) => Trouble::Forbidden,
        _ => Trouble::Rejected,
    }
}
