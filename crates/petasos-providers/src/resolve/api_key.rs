//! Providers that take a key: the generic rule, and the few twists that single providers add.

use super::assemble::Parts;
use super::endpoint::{Endpoint, From, Lenience, Trust, endpoint, needs_key, not_allowed};
use super::keys::{Claim, Key, missing_key};
use super::scene::Scene;
use super::{Outcome, ResolveError, Verdict};
use crate::credential::command::SecretCommand;
use crate::credential::usable::fingerprint;
use crate::runtime::{BaseUrl, EndpointKind, Expiry, Source};
use crate::table::Provider;

/// The rule; it answers for every provider that reaches it.
pub(crate) fn api_key(scene: &mut Scene<'_>) -> Option<Outcome> {
    let provider = scene.provider?;
    Some(runtime(scene, provider))
}

fn runtime(scene: &mut Scene<'_>, provider: &Provider) -> Outcome {
    let chosen = endpoint(scene, provider, Lenience::None)?;
    let key = key(scene, provider, &chosen);
    let keyless = provider.id == "lmstudio" || provider.id == "nvidia" && is_here(&chosen.url);
    let Some(key) = key else {
        return match (chosen.trust, chosen.from) {
            _ if keyless => Ok(assemble(scene, provider, chosen.url, None)),
            (Trust::KeyWithIt, From::Request) => Err(needs_key(provider, &chosen.url)),
            (Trust::KeyWithIt, _) => Err(not_allowed(provider, &chosen.url, "`model.base_url`")),
            (Trust::Own | Trust::Granted, _) => Err(missing_key(&provider.id, &provider.key_env)),
        };
    };
    if chosen.trust == Trust::Granted && provider.id == "openai-api" {
        scene.notice_openai_key(&chosen.url);
    }
    let key = if provider.id == "copilot" { copilot(scene, key)? } else { key };
    let url = adjusted(scene, provider, chosen, &key);
    Ok(assemble(scene, provider, url, Some(key)))
}

fn assemble(
    scene: &mut Scene<'_>,
    provider: &Provider,
    url: BaseUrl,
    key: Option<Key>,
) -> crate::runtime::ProviderRuntime {
    let mut parts = Parts::new(&provider.id, url, EndpointKind::Registry);
    parts.provider = Some(provider);
    parts.key = key;
    scene.assemble(parts)
}

/// Request, saved, pool, variables; only a key that came with a foreign endpoint goes there.
fn key(scene: &mut Scene<'_>, provider: &Provider, chosen: &Endpoint) -> Option<Key> {
    let claim = match chosen.trust {
        Trust::Own => Claim::new(&provider.id, provider.scope()),
        Trust::Granted | Trust::KeyWithIt => Claim::exactly(&provider.id, &chosen.url),
    };
    let explicit = scene.explicit_key(&claim);
    if explicit.is_some() {
        return explicit;
    }
    // A key saved for one endpoint does not follow to an endpoint of the request.
    let saved = scene.is_saved_for(&provider.id)
        && (chosen.from == From::Saved || chosen.trust == Trust::Own);
    if saved && let Some(key) = scene.saved_key(&claim) {
        return Some(key);
    }
    if chosen.trust == Trust::KeyWithIt {
        return None;
    }
    if let Some(key) = section_key(scene, provider, &claim) {
        return Some(key);
    }
    scene
        .pool_key(&provider.id, &claim)
        .or_else(|| provider.key_env.iter().find_map(|name| scene.variable_key(name, &claim)))
}

/// The key in `providers.<id>`. One that stands beside an endpoint belongs to that endpoint, which a
/// built-in name does not lead to.
fn section_key(scene: &mut Scene<'_>, provider: &Provider, claim: &Claim) -> Option<Key> {
    let id = provider.id.as_str();
    let text = |scene: &Scene<'_>, name| {
        scene.provider_setting(id, name).and_then(|value| value.as_str().map(str::to_owned))
    };
    if ["base_url", "url", "api"].into_iter().any(|name| text(scene, name).is_some()) {
        let why = format!("its endpoint is reached as `custom:{id}`; `{id}` itself is built in");
        scene.notice(format!("shadow:{id}"), format!("`providers.{id}` is passed over: {why}"));
        scene.trace(format!("`providers.{id}`"), Verdict::Passed, why);
        return None;
    }
    if let Some(key) = text(scene, "api_key") {
        let what = format!("`providers.{id}.api_key`");
        return scene.text_key(&key, &what, Source::Config, claim);
    }
    if let Some(name) = text(scene, "key_env").or_else(|| text(scene, "api_key_env")) {
        return scene.granted_variable_key(&name, claim);
    }
    let command = SecretCommand::of_fields(&|name| scene.provider_setting(id, name).cloned())?;
    scene.printed_key(command, &format!("`providers.{id}.api_key_command`"), claim)
}

/// Copilot's token: classic ones are not accepted, others are exchanged before the first use.
fn copilot(scene: &mut Scene<'_>, mut key: Key) -> Result<Key, ResolveError> {
    if key.secret.expose().starts_with("ghp_") {
        let message = "GitHub Copilot does not accept classic tokens (`ghp_…`)".to_owned();
        let error = ResolveError::new("copilot_token_unsupported", "copilot", message);
        return Err(error.hint("run `petasos auth login copilot`, or use a fine-grained token"));
    }
    let held = scene
        .vault
        .store
        .login("copilot")
        .filter(|login| !login.is_due(scene.vault.now_ms, 120_000));
    let stamp = scene
        .vault
        .store
        .provider("copilot")
        .and_then(|value| value.get("exchanged_from")?.as_str());
    let mut expiry = Expiry { at_ms: Some(0), skew_ms: 120_000, refreshable: true };
    if let Some(login) = held
        && stamp == Some(fingerprint(&key.secret).as_str())
        && let Some(token) = login.access
    {
        scene.trace("exchanged Copilot token", Verdict::Taken, "made from this GitHub token");
        key.secret = token;
        expiry.at_ms = login.expires_at_ms;
    }
    key.expiry = Some(expiry);
    Ok(key)
}

/// Endpoints that depend on the key, when nobody chose one.
fn adjusted(scene: &mut Scene<'_>, provider: &Provider, chosen: Endpoint, key: &Key) -> BaseUrl {
    if chosen.from != From::Usual {
        return chosen.url;
    }
    let better = match provider.id.as_str() {
        "kimi-coding" if key.secret.expose().starts_with("sk-kimi-") => {
            Some("https://api.kimi.com/coding".to_owned())
        }
        "zai" => detected(scene, key),
        "copilot" => scene.vault.store.login("copilot").and_then(|login| login.base_url),
        _ => None,
    };
    let better =
        better.and_then(|text| BaseUrl::parse(&text).ok()).filter(|url| provider.owns(url.url()));
    if let Some(url) = better {
        scene.trace(format!("endpoint {url}"), Verdict::Taken, "this key belongs there");
        return url;
    }
    chosen.url
}

/// The endpoint that answered to this key before.
fn detected(scene: &Scene<'_>, key: &Key) -> Option<String> {
    let found = scene.vault.store.provider("zai")?.get("detected_endpoint")?;
    let same = format!("sha256:{}", found.get("key_hash")?.as_str()?) == fingerprint(&key.secret);
    same.then(|| found.get("base_url")?.as_str().map(str::to_owned)).flatten()
}

fn is_here(url: &BaseUrl) -> bool {
    url.origin().is_some_and(|origin| origin.is_loopback())
}
