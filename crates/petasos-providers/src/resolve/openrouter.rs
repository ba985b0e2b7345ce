//! OpenRouter: the aggregator that is also the answer when only a URL or a key was given.

use super::assemble::Parts;
use super::endpoint::{From, Lenience, Trust, endpoint};
use super::keys::{Claim, missing_key};
use super::scene::Scene;
use super::{Outcome, Verdict};
use crate::runtime::EndpointKind;

/// The rule.
pub(crate) fn openrouter(scene: &mut Scene<'_>) -> Option<Outcome> {
    (scene.provider?.id == "openrouter").then(|| runtime(scene))
}

fn runtime(scene: &mut Scene<'_>) -> Outcome {
    let Some(provider) = scene.provider else { return Err(missing_key("openrouter", &[])) };
    let chosen = endpoint(scene, provider, Lenience::All)?;
    if chosen.from == From::Request && chosen.trust != Trust::Own {
        // A foreign URL makes it the user's own endpoint, whatever the name says.
        return Ok(super::custom::explicit(scene, chosen.url));
    }
    let claim = match chosen.trust {
        Trust::Own => Claim::new(&provider.id, provider.scope()),
        Trust::Granted | Trust::KeyWithIt => Claim::exactly(&provider.id, &chosen.url),
    };
    let mut key = scene.explicit_key(&claim);
    if key.is_none() && scene.is_saved_for("openrouter") {
        key = scene.saved_key(&claim);
    }
    if key.is_none() && chosen.trust != Trust::KeyWithIt {
        key = scene
            .pool_key("openrouter", &claim)
            .or_else(|| scene.variable_key("OPENROUTER_API_KEY", &claim))
            .or_else(|| openai(scene, &claim));
    }
    if key.is_none() {
        return Err(missing_key("openrouter", &provider.key_env));
    }
    let kind =
        if scene.is_automatic() { EndpointKind::OpenRouterDefault } else { EndpointKind::Registry };
    let mut parts = Parts::new("openrouter", chosen.url, kind);
    parts.provider = Some(provider);
    parts.key = key;
    Ok(scene.assemble(parts))
}

fn openai(scene: &mut Scene<'_>, claim: &Claim) -> Option<super::keys::Key> {
    const NAME: &str = "OPENAI_API_KEY";
    if scene.openai_key_on_openrouter() {
        return scene.variable_key(NAME, claim);
    }
    if scene.variable(NAME).is_some() {
        let why = "it belongs to OpenAI; `compat.openai_key_on_openrouter: true` would send it";
        scene.trace(format!("variable `{NAME}`"), Verdict::Refused, why);
    }
    None
}
