//! Routes through the resolver and the vault: what every surface uses.
//!
//! Each question sees the files as they are now, so that a login made meanwhile counts. A
//! credential that is about to end is renewed before it is used.

use std::sync::Arc;
use std::time::Duration;

use petasos_contract::context::Surface;
use petasos_contract::model::{Reason, Role};
use petasos_contract::{BoxFuture, CallContext, Settings};
use petasos_net::Scope;
use petasos_net::client::Net;

use super::gitlab::DirectAccess;
use super::zai::Endpoints;
use super::{Routes, Unroutable};
use crate::credential::copilot::{self, Exchange};
use crate::credential::pool::{self, Advice, Entry, Strategy, Trouble};
use crate::credential::refresh::{self, Why};
use crate::credential::spec::Renewal;
use crate::credential::store::{self, AuthFile};
use crate::credential::{Vault, now_ms};
use crate::failure::Failure;
use crate::fallback::Wanted;
use crate::local::Finder;
use crate::resolve::{Request, resolve};
use crate::runtime::{ProviderRuntime, Source};

/// Routes of this machine's configuration and logins.
#[derive(Debug)]
pub struct VaultRoutes {
    net: Arc<Net>,
    exchange: Exchange,
    finder: Finder,
    zai: Endpoints,
    gitlab: DirectAccess,
}

impl VaultRoutes {
    /// Routes that renew logins through this way out.
    pub fn new(net: Arc<Net>) -> Self {
        Self {
            net,
            exchange: Exchange::default(),
            finder: Finder::default(),
            zai: Endpoints::default(),
            gitlab: DirectAccess::default(),
        }
    }

    /// The same routes that look for local servers elsewhere.
    #[must_use]
    pub fn with_finder(mut self, finder: Finder) -> Self {
        self.finder = finder;
        self
    }

    /// The same routes with other endpoints for the keys of Z.AI, the usual one first.
    #[must_use]
    pub fn with_zai_endpoints(mut self, places: [String; 4]) -> Self {
        self.zai = Endpoints::at(places);
        self
    }

    /// The same routes with another place where GitLab exchanges tokens.
    #[must_use]
    pub fn with_gitlab(mut self, url: &str, scope: Scope) -> Self {
        self.gitlab = DirectAccess::at(url, scope);
        self
    }

    async fn look(
        &self,
        wanted: &Wanted,
        selection: Selection,
        settings: &Settings,
    ) -> Result<ProviderRuntime, Unroutable> {
        let request = request(wanted, selection);
        let view = Vault::of(settings).view_soon(settings).await;
        let resolved = self.finder.resolve(&request, settings, view, &self.net).await;
        resolved.outcome.map_err(|error| Unroutable {
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
        let runtime = self.look(wanted, selection, settings).await?;
        if let Some(used) = &runtime.pool
            && let Err(error) = Vault::of(settings).count_use(used, settings).await
        {
            tracing::warn!(%error, "the use of a key was not counted");
        }
        let runtime = Box::pin(self.zai.settled(runtime, settings, &self.net)).await;
        if runtime.provider == "gitlab" {
            return Box::pin(self.gitlab.exchanged(runtime, &self.net)).await;
        }
        if needs_exchange(&runtime) {
            return Ok(self.exchanged(wanted, runtime, settings).await);
        }
        let due = runtime.expiry.is_some_and(|expiry| expiry.is_due(now_ms()));
        if !due {
            return Ok(runtime);
        }
        let unroutable = |code: &str, message: String| Unroutable {
            provider: runtime.provider.clone(),
            code: code.to_owned(),
            message,
        };
        match self.renew(&runtime, settings, Why::Expiring).await {
            Renewed::Yes(renewed) if !runtime.awaits_renewal() => Ok(*renewed),
            Renewed::Yes(_) => {
                let found = self.look(wanted, selection, settings).await?;
                let lost = "the renewed login could not be stored; check the agent home's disk";
                if found.awaits_renewal() {
                    Err(unroutable("login_not_renewed", lost.to_owned()))
                } else {
                    Ok(found)
                }
            }
            Renewed::No(why) if runtime.awaits_renewal() => {
                Err(unroutable("login_not_renewed", why))
            }
            // It may still be accepted; if not, the refusal is handled like any other.
            Renewed::No(_) => Ok(runtime),
            Renewed::NeedsPerson(message) => Err(unroutable("relogin_required", message)),
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
        self.look(wanted, Selection::Counts, settings).await.unwrap_or(runtime)
    }

    async fn renew(&self, runtime: &ProviderRuntime, settings: &Settings, why: Why) -> Renewed {
        let vault = Vault::of(settings);
        let Some(renewal) = Renewal::of(runtime, &vault, settings) else {
            return Renewed::No(format!("`{}` has no login to renew", runtime.provider));
        };
        let seen = runtime.credential.as_ref().map(|credential| &credential.secret);
        match refresh::refresh(&renewal, seen, why, &self.net).await {
            Ok(login) => {
                let fresh = login.access.filter(|access| Some(access) != seen);
                let same = || Renewed::No("the renewed token is the one at hand".to_owned());
                fresh.map_or_else(same, |access| {
                    Renewed::Yes(Box::new(runtime.with_secret(access, login.expires_at_ms)))
                })
            }
            Err(error) => {
                tracing::warn!(%error, provider = runtime.provider, "a login was not renewed");
                if error.needs_person() {
                    Renewed::NeedsPerson(error.to_string())
                } else {
                    Renewed::No(error.to_string())
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
        if matches!(runtime.source, Source::Command(_)) {
            self.finder.commands().forget(seen.as_ref()?);
            let wanted = Wanted {
                provider: Some(runtime.requested.clone()),
                model: runtime.model.clone(),
                ..Wanted::default()
            };
            let renewed = self.find(&wanted, Selection::Counts, settings).await.ok()?;
            let fresh = renewed.credential.as_ref().map(|credential| &credential.secret);
            return (fresh != seen.as_ref()).then_some(renewed);
        }
        if runtime.provider == "gitlab" {
            self.gitlab.forget();
            let wanted = Wanted {
                provider: Some("gitlab".to_owned()),
                model: runtime.model.clone(),
                ..Wanted::default()
            };
            return self.find(&wanted, Selection::Counts, settings).await.ok();
        }
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
            Renewed::No(_) | Renewed::NeedsPerson(_) => None,
        }
    }
}

fn request(wanted: &Wanted, selection: Selection) -> Request {
    Request {
        provider: wanted.provider.clone(),
        model: wanted.model.clone(),
        base_url: wanted.base_url.clone(),
        api_key: wanted.api_key.clone(),
        key_env: wanted.key_env.clone(),
        api_mode: wanted.api_mode.clone(),
        ignores_selection_variable: selection == Selection::Ignored,
    }
}

/// Whether the variable that selects a provider counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Selection {
    Counts,
    Ignored,
}

impl Selection {
    /// A scheduled job must not follow a variable that happens to be set where it runs.
    fn on(surface: Surface) -> Self {
        if surface == Surface::Cron { Self::Ignored } else { Self::Counts }
    }
}

enum Renewed {
    Yes(Box<ProviderRuntime>),
    No(String),
    NeedsPerson(String),
}

/// Whether the credential is made from another one, which can be done again.
fn exchanges(runtime: &ProviderRuntime) -> bool {
    matches!(runtime.provider.as_str(), "copilot" | "gitlab")
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
        Box::pin(self.find(wanted, Selection::on(cx.surface), &cx.settings))
    }

    fn preview<'a>(
        &'a self,
        wanted: &'a Wanted,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Option<ProviderRuntime>> {
        Box::pin(async move {
            let mut view = Vault::of(&cx.settings).view_soon(&cx.settings).await;
            view.local = self.finder.remembered().unwrap_or_default();
            view.printed = self.finder.commands().held();
            let request = request(wanted, Selection::on(cx.surface));
            resolve(&request, &cx.settings, &view).outcome.ok()
        })
    }

    fn can_refresh(&self, runtime: &ProviderRuntime) -> bool {
        let renewable = [Source::AuthStore, Source::ClaudeCode, Source::QwenCli];
        let pooled = runtime.pool.is_some() && runtime.expiry.is_some_and(|it| it.refreshable);
        let printed = matches!(runtime.source, Source::Command(_));
        renewable.contains(&runtime.source) || pooled || printed || exchanges(runtime)
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
        let vault = Vault::of(settings);
        let entries =
            AuthFile::read(vault.pool_holder(&used.pool)).map(|file| file.pool(&used.pool));
        let now = now_ms();
        let kept = |entry: &Entry| entry.secret.is_some() || entry.is_in_keyring();
        let other = |entry: &Entry| entry.id != used.entry && kept(entry) && entry.is_rested(now);
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
    let vault = Vault::of(settings);
    let strategy = Strategy::of(&used.pool, settings);
    let now = now_ms();
    let reset = failure.retry_after.and_then(|wait| now.checked_add(millis(wait)?));
    // The store itself lacks the secrets that the keyring keeps.
    let known = vault.view_soon(settings).await.store.pool(&used.pool);
    let changed = store::update(vault.pool_holder(&used.pool), |file| {
        let mut entries = file.pool(&used.pool);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.id == used.entry) {
            let advice = pool::fail(entry, trouble(failure), now, reset);
            file.set_entry(&used.pool, entry);
            if advice != Advice::Rotate {
                return None;
            }
        }
        entries.retain(|entry| entry.id != used.entry);
        for entry in entries.iter_mut().filter(|entry| entry.secret.is_none()) {
            let same = known.iter().find(|known| known.id == entry.id);
            entry.secret = same.and_then(|known| known.secret.clone());
        }
        let mut next = pool::select(&entries, strategy, now, now).cloned()?;
        if strategy.counts() {
            next.request_count += 1;
            file.set_entry(&used.pool, &next);
        }
        Some(next)
    });
    let entry = match changed.await {
        Ok(entry) => entry?,
        Err(error) => {
            tracing::warn!(%error, "the credential pool could not be changed");
            return None;
        }
    };
    let expiry = entry.expiry();
    let (place, usual) = (entry.own_endpoint(), entry.base_url.is_none());
    let mut rotated = runtime.with_secret(entry.secret?, entry.expires_at_ms);
    // A key with an endpoint of its own goes there, and one without never to another's.
    if let (Some(url), Some(credential)) = (&place, &mut rotated.credential)
        && (!entry.oauth || credential.scope.permits(url.url()))
    {
        credential.scope = url.origin().map_or_else(Scope::default, Scope::exactly);
        rotated.base_url = url.clone();
    } else if known.iter().any(|other| other.id == used.entry && other.base_url.is_some()) && usual
    {
        return None;
    }
    rotated.expiry = expiry;
    rotated.source = Source::Pool(entry.source);
    rotated.pool.as_mut()?.entry = entry.id;
    Some(rotated)
}

fn millis(wait: Duration) -> Option<u64> {
    u64::try_from(wait.as_millis()).ok()
}

fn trouble(failure: &Failure) -> Trouble {
    const REVOKED: [&str; 6] = [
        "token_invalidated",
        "token_revoked",
        "invalid_token",
        "invalid_grant",
        "unauthorized_client",
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
