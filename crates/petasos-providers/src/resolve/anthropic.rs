//! Anthropic itself: four places a token can come from, their order, and Azure's copies of Claude.
//!
//! Claude Code's login is used only when the user chose Anthropic on purpose, and
//! `anthropic.claude_code_credentials: never` turns it off.

use petasos_net::origin::is_below;

use super::assemble::Parts;
use super::endpoint::{Endpoint, From, Lenience, Trust, endpoint, needs_key, not_allowed};
use super::keys::{Claim, Key, missing_key};
use super::scene::Scene;
use super::{Outcome, Verdict};
use crate::credential::borrowed::ClaudeCode;
use crate::runtime::{BaseUrl, EndpointKind, Expiry, Source};
use crate::table::Provider;

/// The rule.
pub(crate) fn anthropic(scene: &mut Scene<'_>) -> Option<Outcome> {
    let provider = scene.provider.filter(|provider| provider.id == "anthropic")?;
    Some(runtime(scene, provider))
}

fn runtime(scene: &mut Scene<'_>, provider: &Provider) -> Outcome {
    if let Some((url, from)) = azure(scene, provider)? {
        return at_azure(scene, provider, url, from);
    }
    let chosen = endpoint(scene, provider, Lenience::VariableAndOther)?;
    let Some(key) = key(scene, provider, &chosen) else {
        return Err(match (chosen.trust, chosen.from) {
            (Trust::KeyWithIt, From::Request) => needs_key(provider, &chosen.url),
            (Trust::KeyWithIt, _) => not_allowed(provider, &chosen.url, "`model.base_url`"),
            (Trust::Own | Trust::Granted, _) => missing_key("anthropic", &provider.key_env),
        });
    };
    let mut parts = Parts::new("anthropic", chosen.url, EndpointKind::Registry);
    parts.provider = Some(provider);
    parts.key = Some(key);
    Ok(scene.assemble(parts))
}

fn key(scene: &mut Scene<'_>, provider: &Provider, chosen: &Endpoint) -> Option<Key> {
    let claim = match chosen.trust {
        Trust::Own => Claim::new("anthropic", provider.scope()),
        Trust::Granted | Trust::KeyWithIt => Claim::exactly("anthropic", &chosen.url),
    };
    let saved = scene.is_saved_for("anthropic") && chosen.from != From::Request;
    let given =
        scene.explicit_key(&claim).or_else(|| saved.then(|| scene.saved_key(&claim)).flatten());
    match (given, chosen.trust) {
        (Some(key), _) => Some(key),
        (None, Trust::KeyWithIt) => None,
        // Tokens of a login never leave Anthropic's own hosts, whatever was granted to the key.
        (None, Trust::Granted) => scene.variable_key("ANTHROPIC_API_KEY", &claim),
        (None, Trust::Own) => own_key(scene, &claim),
    }
}

fn own_key(scene: &mut Scene<'_>, claim: &Claim) -> Option<Key> {
    for name in ["ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
        let Some(key) = scene.variable_key(name, claim) else { continue };
        if !is_oauth(key.secret.expose()) {
            return Some(key);
        }
        let Some(better) = claude_code(scene, claim, Wanted::Refreshable) else { return Some(key) };
        if better.secret != key.secret {
            let why = "Claude Code holds a login that renews itself";
            scene.trace(format!("variable `{name}`"), Verdict::Passed, why);
        }
        return Some(better);
    }
    // Whoever set only an API key did not ask for a subscription to be used.
    let api_key = scene.variable_key("ANTHROPIC_API_KEY", claim);
    if api_key.is_some() {
        return api_key;
    }
    claude_code(scene, claim, Wanted::Any)
        .or_else(|| pkce(scene, claim))
        .or_else(|| scene.pool_key("anthropic", claim))
}

/// How good Claude Code's login must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    Refreshable,
}

fn claude_code(scene: &mut Scene<'_>, claim: &Claim, wanted: Wanted) -> Option<Key> {
    let found = scene.vault.claude_code.as_ref()?;
    let what = "Claude Code's login";
    if scene.settings.text("anthropic.claude_code_credentials") == Some("never") {
        scene.trace(what, Verdict::Refused, "`anthropic.claude_code_credentials` is `never`");
        return None;
    }
    if !chosen_on_purpose(scene) {
        scene.trace(what, Verdict::Refused, "Anthropic was not chosen on purpose");
        return None;
    }
    if wanted == Wanted::Refreshable && !found.is_refreshable() {
        scene.trace(what, Verdict::Passed, "it cannot renew itself");
        return None;
    }
    let expired = found.login.is_due(scene.vault.now_ms, ClaudeCode::SKEW_MS);
    if expired && !found.is_refreshable() {
        scene.trace(what, Verdict::Refused, "it has ended and cannot renew itself");
        return None;
    }
    let secret = found.login.access.clone().or_else(|| found.login.refresh.clone())?;
    let at_ms = if found.login.access.is_some() { found.login.expires_at_ms } else { Some(0) };
    let text = "Claude Code's login is used; the vendor's terms may restrict that. \
                `anthropic.claude_code_credentials: never` turns it off";
    scene.notice("claude_code", text);
    scene.trace(what, Verdict::Taken, format!("may go to {}", claim.scope));
    Some(Key {
        owner: claim.owner.clone(),
        secret,
        scope: claim.scope.clone(),
        source: Source::ClaudeCode,
        pool: None,
        expiry: Some(Expiry {
            at_ms,
            skew_ms: ClaudeCode::SKEW_MS,
            refreshable: found.is_refreshable(),
        }),
    })
}

fn chosen_on_purpose(scene: &Scene<'_>) -> bool {
    scene.is_saved_for("anthropic")
        || scene.vault.store.active_provider() == Some("anthropic")
        || scene.request.provider.is_some() && scene.requested != "auto"
        || ["ANTHROPIC_TOKEN", "ANTHROPIC_API_KEY"]
            .iter()
            .any(|name| scene.variable(name).is_some())
        || !scene.vault.store.pool("anthropic").is_empty()
}

/// Our own login, made with `petasos auth login anthropic`.
fn pkce(scene: &mut Scene<'_>, claim: &Claim) -> Option<Key> {
    let login = scene.vault.store.login("anthropic").filter(|login| login.dead.is_none())?;
    let secret = login.access?;
    scene.trace("our own login to Anthropic", Verdict::Taken, format!("may go to {}", claim.scope));
    Some(Key {
        owner: claim.owner.clone(),
        secret,
        scope: claim.scope.clone(),
        source: Source::AuthStore,
        pool: None,
        expiry: Some(Expiry {
            at_ms: login.expires_at_ms,
            skew_ms: ClaudeCode::SKEW_MS,
            refreshable: login.refresh.is_some(),
        }),
    })
}

/// Whether a token came from a login rather than from the console.
pub(crate) fn is_oauth(token: &str) -> bool {
    (token.starts_with("sk-ant-") && !token.starts_with("sk-ant-api"))
        || token.starts_with("eyJ")
        || token.starts_with("cc-")
}

/// An endpoint at Azure, which the request or the configuration names.
fn azure(
    scene: &mut Scene<'_>,
    provider: &Provider,
) -> Result<Option<(BaseUrl, From)>, super::ResolveError> {
    let is_azure = |url: &BaseUrl| {
        let secure = url.origin().is_some_and(|origin| origin.is_encrypted());
        secure && url.url().domain().is_some_and(|host| is_below(host, "azure.com"))
    };
    if let Some(url) = scene.explicit_url()? {
        return Ok(is_azure(&url).then_some((url, From::Request)));
    }
    let Some(text) = scene.saved.base_url.filter(|_| scene.is_saved_for(&provider.id)) else {
        return Ok(None);
    };
    let url = scene.parse_url(text, "`model.base_url`")?;
    Ok(is_azure(&url).then_some((url, From::Saved)))
}

fn at_azure(scene: &mut Scene<'_>, provider: &Provider, url: BaseUrl, from: From) -> Outcome {
    let claim = Claim::exactly("anthropic", &url);
    let mut key = scene.explicit_key(&claim);
    if key.is_none() && from == From::Saved {
        key = scene.saved_key(&claim);
    }
    for name in ["AZURE_ANTHROPIC_KEY", "ANTHROPIC_API_KEY"] {
        key = key.or_else(|| {
            scene.variable_key(name, &claim).filter(|key| !is_oauth(key.secret.expose()))
        });
    }
    let Some(mut key) = key else {
        return Err(missing_key("anthropic", &["AZURE_ANTHROPIC_KEY".to_owned()]));
    };
    if from == From::Request {
        key.source = Source::AzureExplicit;
    }
    let mut parts = Parts::new("anthropic", url, EndpointKind::Custom);
    parts.provider = Some(provider);
    parts.key = Some(key);
    Ok(scene.assemble(parts))
}
