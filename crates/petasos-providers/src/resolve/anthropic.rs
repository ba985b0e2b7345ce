//! Anthropic itself: four places a token can come from, their order, and Azure's copies of Claude.
//!
//! Claude Code's login is used only when the user chose Anthropic on purpose, and
//! `anthropic.claude_code_credentials: never` turns it off.

use petasos_net::origin::is_below;

use super::assemble::Parts;
use super::endpoint::{Endpoint, From, Lenience, Trust, endpoint, needs_key, not_allowed};
use super::keys::{Claim, Held, Key, Pending, missing_key};
use super::scene::Scene;
use super::{Outcome, Verdict};
use crate::credential::borrowed::ClaudeCode;
use crate::credential::login::Login;
use crate::credential::pool::Entry;
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
    let Some(held) = held(scene, provider, &chosen) else {
        return Err(match (chosen.trust, chosen.from) {
            (Trust::KeyWithIt, From::Request) => needs_key(provider, &chosen.url),
            (Trust::KeyWithIt, _) => not_allowed(provider, &chosen.url, "`model.base_url`"),
            (Trust::Own | Trust::Granted, _) => missing_key("anthropic", &provider.key_env),
        });
    };
    let mut parts = Parts::new("anthropic", chosen.url, EndpointKind::Registry).holding(held);
    parts.provider = Some(provider);
    Ok(scene.assemble(parts))
}

fn held(scene: &mut Scene<'_>, provider: &Provider, chosen: &Endpoint) -> Option<Held> {
    let claim = match chosen.trust {
        Trust::Own => Claim::new("anthropic", provider.scope()),
        Trust::Granted | Trust::KeyWithIt => Claim::exactly("anthropic", &chosen.url),
    };
    let saved = scene.is_saved_for("anthropic") && chosen.from != From::Request;
    let given =
        scene.explicit_key(&claim).or_else(|| saved.then(|| scene.saved_key(&claim)).flatten());
    match (given, chosen.trust) {
        (Some(key), _) => Some(Held::Token(key)),
        (None, Trust::KeyWithIt) => None,
        // Tokens of a login never leave Anthropic's own hosts, whatever was granted to the key.
        (None, Trust::Granted) => scene.variable_key("ANTHROPIC_API_KEY", &claim).map(Held::Token),
        (None, Trust::Own) => own_key(scene, &claim),
    }
}

fn own_key(scene: &mut Scene<'_>, claim: &Claim) -> Option<Held> {
    // What was put into the vault by hand was put there to be used.
    let by_hand = |entry: &Entry| entry.source.starts_with("manual") || entry.is_in_keyring();
    if scene.vault.store.pool("anthropic").iter().any(by_hand)
        && let Some(key) = scene.pool_key("anthropic", claim)
    {
        return Some(Held::Token(key));
    }
    for name in ["ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
        let Some(key) = scene.variable_key(name, claim) else { continue };
        if !is_oauth(key.secret.expose()) {
            return Some(Held::Token(key));
        }
        let Some(better) = claude_code(scene, claim, Wanted::Refreshable) else {
            return Some(Held::Token(key));
        };
        if !matches!(&better, Held::Token(other) if other.secret == key.secret) {
            let why = "Claude Code holds a login that renews itself";
            scene.trace(format!("variable `{name}`"), Verdict::Passed, why);
        }
        return Some(better);
    }
    // Whoever set only an API key did not ask for a subscription to be used.
    let api_key = scene.variable_key("ANTHROPIC_API_KEY", claim);
    if api_key.is_some() {
        return api_key.map(Held::Token);
    }
    claude_code(scene, claim, Wanted::Any)
        .or_else(|| pkce(scene, claim))
        .or_else(|| scene.pool_key("anthropic", claim).map(Held::Token))
}

/// How good Claude Code's login must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    Refreshable,
}

fn claude_code(scene: &mut Scene<'_>, claim: &Claim, wanted: Wanted) -> Option<Held> {
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
    let text = "Claude Code's login is used; the vendor's terms may restrict that. \
                `anthropic.claude_code_credentials: never` turns it off";
    scene.notice("claude_code", text);
    Some(of_login(scene, claim, &found.login, what, Source::ClaudeCode))
}

/// What a login holds that is good, or can be made good.
fn of_login(
    scene: &mut Scene<'_>,
    claim: &Claim,
    login: &Login,
    what: &str,
    source: Source,
) -> Held {
    let skew_ms = ClaudeCode::SKEW_MS;
    let Some(secret) = login.access.clone() else {
        scene.trace(what, Verdict::Taken, "it is renewed before the first request");
        return Held::Renewal(Pending { source, skew_ms });
    };
    scene.trace(what, Verdict::Taken, format!("may go to {}", claim.scope));
    let refreshable = login.refresh.is_some();
    Held::Token(Key {
        owner: claim.owner.clone(),
        secret,
        scope: claim.scope.clone(),
        source,
        pool: None,
        expiry: Some(Expiry { at_ms: login.expires_at_ms, skew_ms, refreshable }),
        endpoint: None,
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
fn pkce(scene: &mut Scene<'_>, claim: &Claim) -> Option<Held> {
    let login = scene.vault.store.login("anthropic").filter(|login| login.dead.is_none())?;
    let holds = login.access.is_some() || login.refresh.is_some();
    holds.then(|| of_login(scene, claim, &login, "our own login to Anthropic", Source::AuthStore))
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
