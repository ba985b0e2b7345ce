//! Providers that one logs in to: Nous, Codex, xAI, Qwen, MiniMax, and Google's retired one.
//!
//! The token comes from the auth store, a pool, or the file of the program that owns the login.
//! A token that has ended is still an answer when it can renew itself: the client renews it
//! before the first request.

use super::assemble::Parts;
use super::endpoint::{Endpoint, From, Lenience, Trust, endpoint, needs_key};
use super::keys::{Claim, Held, Key, Pending};
use super::scene::Scene;
use super::{Outcome, ResolveError, Verdict};
use crate::credential::jwt;
use crate::credential::login::Login;
use crate::credential::spec;
use crate::row::Auth;
use crate::runtime::{BaseUrl, EndpointKind, Expiry, Source};
use crate::table::Provider;

/// The rule.
pub(crate) fn login(scene: &mut Scene<'_>) -> Option<Outcome> {
    let provider = scene.provider?;
    matches!(provider.auth, Auth::DeviceCode | Auth::External).then(|| runtime(scene, provider))
}

fn runtime(scene: &mut Scene<'_>, provider: &Provider) -> Outcome {
    if provider.base_url.as_deref().is_some_and(|url| !url.starts_with("http")) {
        return Err(unspoken(provider));
    }
    let chosen = endpoint(scene, provider, Lenience::Variable)?;
    let claim = match chosen.trust {
        Trust::Own => Claim::new(&provider.id, provider.scope()),
        Trust::Granted | Trust::KeyWithIt => Claim::exactly(&provider.id, &chosen.url),
    };
    let held = match scene.explicit_key(&claim) {
        Some(key) => Held::Token(key),
        None if chosen.trust != Trust::Own => return Err(needs_key(provider, &chosen.url)),
        None => token(scene, provider, &claim)?,
    };
    let account = match &held {
        Held::Token(key) if provider.id == "openai-codex" => {
            jwt::chatgpt_account(key.secret.expose())
        }
        Held::Token(_) | Held::Renewal(_) => None,
    };
    let url = told(scene, provider, &chosen).unwrap_or(chosen.url);
    let mut parts = Parts::new(&provider.id, url, EndpointKind::Registry).holding(held);
    parts.provider = Some(provider);
    let mut runtime = scene.assemble(parts);
    if let Some(account) = account {
        runtime.headers.push(("ChatGPT-Account-ID".to_owned(), account));
    }
    Ok(runtime)
}

/// The endpoint that the provider named at login, if it is one of its own and nobody chose another.
fn told(scene: &Scene<'_>, provider: &Provider, chosen: &Endpoint) -> Option<BaseUrl> {
    let text =
        scene.vault.store.login(&provider.id)?.base_url.filter(|_| chosen.from == From::Usual)?;
    BaseUrl::parse(&text).ok().filter(|url| provider.owns(url.url()))
}

fn token(scene: &mut Scene<'_>, provider: &Provider, claim: &Claim) -> Result<Held, ResolveError> {
    let id = provider.id.as_str();
    let stored = scene.vault.store.login(id);
    if let Some(reason) = stored.as_ref().and_then(|login| login.dead.clone()) {
        scene.trace(format!("login to `{id}`"), Verdict::Refused, reason);
    }
    let borrowed = match id {
        "openai-codex" => {
            scene.vault.codex_cli.as_ref().map(|cli| (cli.login.clone(), Source::CodexCli))
        }
        "qwen-oauth" => {
            scene.vault.qwen_cli.as_ref().map(|cli| (cli.login.clone(), Source::QwenCli))
        }
        _ => None,
    };
    let now = scene.vault.now_ms;
    let skew_ms = spec::skew_ms(id, None);
    // The Codex program renews its own token; taking its refresh token would log it out.
    let borrowed = borrowed
        .filter(|(login, source)| *source == Source::QwenCli || !login.is_due(now, skew_ms));
    let own = stored.filter(|login| login.dead.is_none()).map(|login| (login, Source::AuthStore));
    for (login, source) in own.into_iter().chain(borrowed) {
        if let Some(held) = from_login(scene, provider, claim, &login, source) {
            return Ok(held);
        }
    }
    scene.pool_key(id, claim).map(Held::Token).ok_or_else(|| missing(provider))
}

fn from_login(
    scene: &mut Scene<'_>,
    provider: &Provider,
    claim: &Claim,
    login: &Login,
    source: Source,
) -> Option<Held> {
    let now = scene.vault.now_ms;
    let skew_ms = spec::skew_ms(&provider.id, login.life_ms());
    let what = format!("login to `{}` from {source}", provider.id);
    let refreshable = login.refresh.is_some();
    if login.is_due(now, skew_ms) && !refreshable {
        scene.trace(what, Verdict::Refused, "it has ended and cannot renew itself");
        return None;
    }
    let Some(secret) = login.access.clone() else {
        scene.trace(what, Verdict::Taken, "it is renewed before the first request");
        return Some(Held::Renewal(Pending { source, skew_ms }));
    };
    scene.trace(what, Verdict::Taken, format!("may go to {}", claim.scope));
    Some(Held::Token(Key {
        owner: claim.owner.clone(),
        secret,
        scope: claim.scope.clone(),
        source,
        pool: None,
        expiry: Some(Expiry { at_ms: login.expires_at_ms, skew_ms, refreshable }),
        endpoint: None,
    }))
}

fn missing(provider: &Provider) -> ResolveError {
    let id = provider.id.as_str();
    let message = format!("there is no working login to `{id}`");
    let mut error = ResolveError::new(spec::missing_code(id), id, message);
    error.relogin_required = true;
    error.hint(format!("run `petasos auth login {id}`"))
}

/// A login whose protocol is not spoken here; the row stays so that the name is understood.
fn unspoken(provider: &Provider) -> ResolveError {
    let message = format!("this version does not speak the protocol of `{}`", provider.id);
    let error = ResolveError::new("provider_unsupported", &provider.id, message);
    error.hint("use `gemini` with `GEMINI_API_KEY`")
}
