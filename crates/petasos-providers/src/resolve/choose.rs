//! Finding the provider: switched off, chosen automatically, or looked up by its name.

use super::scene::{ChosenBy, Scene};
use super::{Outcome, ResolveError, Verdict};
use crate::credential::usable::usable;
use crate::table::Provider;

/// A provider that the configuration switches off.
pub(crate) fn disabled(scene: &mut Scene<'_>) -> Option<Outcome> {
    let canonical = scene.table.find(&scene.requested).map(|provider| provider.id.clone());
    let names = [Some(scene.requested.clone()), canonical];
    let name = names.into_iter().flatten().find(|name| scene.is_disabled(name))?;
    let message = format!("provider `{name}` is switched off");
    let error = ResolveError::new("provider_disabled", &name, message);
    Some(Err(error.hint(format!("remove `providers.{name}.enabled: false` from config.yaml"))))
}

/// Looks the name up; an unknown one is an error and never a guess.
pub(crate) fn known(scene: &mut Scene<'_>) -> Option<Outcome> {
    if scene.provider.is_some() {
        return None;
    }
    if let Some(provider) = scene.table.find(&scene.requested) {
        scene.provider = Some(provider);
        return None;
    }
    let requested = scene.requested.clone();
    let message = format!("`{requested}` is not a provider");
    let error = ResolveError::new("invalid_provider", &requested, message);
    Some(Err(match nearest(scene, &requested) {
        Some(near) => {
            error.hint(format!("did you mean `{near}`? `petasos provider list` shows all"))
        }
        None => {
            error.hint("`petasos provider list` shows all; your own go into `custom_providers`")
        }
    }))
}

/// The known name that shares the longest beginning, if it is a fair part of the word.
fn nearest<'a>(scene: &Scene<'a>, name: &str) -> Option<&'a str> {
    let shared = |known: &str| known.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    let best =
        scene.table.names().max_by_key(|known| (shared(known), std::cmp::Reverse(*known)))?;
    (shared(best) >= 3).then_some(best)
}

/// Picks a provider when nobody named one.
pub(crate) fn automatic(scene: &mut Scene<'_>) -> Option<Outcome> {
    if scene.requested != "auto" || scene.provider.is_some() {
        return None;
    }
    let picked = pick(scene);
    if let Some((provider, why)) = picked {
        scene.trace(format!("provider `{}`", provider.id), Verdict::Taken, why);
        scene.provider = Some(provider);
        return None;
    }
    if let Some(outcome) = super::custom::local(scene) {
        return Some(outcome);
    }
    let message = "no provider is configured and no key was found".to_owned();
    let error = ResolveError::new("no_provider_configured", "", message);
    Some(
        Err(error.hint("run `petasos setup`, or set one key such as `OPENROUTER_API_KEY` in .env")),
    )
}

fn pick<'a>(scene: &mut Scene<'a>) -> Option<(&'a Provider, String)> {
    let table = scene.table;
    let of = |id: &str| table.get(id);
    if scene.request.api_key.is_some() || scene.request.base_url.is_some() {
        return of("openrouter")
            .map(|provider| (provider, "a key or URL came with the request".into()));
    }
    if let Some(provider) = scene.saved_id().and_then(|id| table.get(&id)) {
        return Some((provider, "saved in the configuration".to_owned()));
    }
    if has_variable(scene, "OPENROUTER_API_KEY") && !scene.is_disabled("openrouter") {
        return of("openrouter").map(|found| (found, "`OPENROUTER_API_KEY` is set".to_owned()));
    }
    if has_variable(scene, "OPENAI_API_KEY") && !scene.is_disabled("openai-api") {
        return Some(openai(scene, table.get("openai-api")?, of("openrouter")?));
    }
    if !scene.vault.store.pool("openrouter").is_empty() && !scene.is_disabled("openrouter") {
        return of("openrouter").map(|found| (found, "its pool has entries".to_owned()));
    }
    by_rank(scene).or_else(|| by_login(scene)).or_else(|| by_aws(scene))
}

/// The key of OpenAI goes to OpenAI; sending it to the aggregator is something one opts into.
fn openai<'a>(
    scene: &mut Scene<'_>,
    own: &'a Provider,
    aggregator: &'a Provider,
) -> (&'a Provider, String) {
    if scene.openai_key_on_openrouter() {
        return (aggregator, "`compat.openai_key_on_openrouter` is set".to_owned());
    }
    let text = "`OPENAI_API_KEY` is set, so OpenAI itself is used".to_owned();
    scene.notice("auto:openai-api", text.clone());
    (own, text)
}

fn by_rank<'a>(scene: &mut Scene<'a>) -> Option<(&'a Provider, String)> {
    let mut ranked: Vec<&Provider> =
        scene.table.providers().iter().filter(|p| p.rank.is_some()).collect();
    ranked.sort_by_key(|provider| provider.rank);
    let found = ranked.into_iter().find_map(|provider| {
        if scene.is_disabled(&provider.id)
            || (provider.base_url.is_none() && !has_url(scene, provider))
        {
            return None;
        }
        let name = provider.key_env.iter().find(|name| has_variable(scene, name));
        let pooled = || !scene.vault.store.pool(&provider.id).is_empty();
        match name {
            Some(name) => Some((provider, format!("`{name}` is set"))),
            None => pooled().then(|| (provider, "its pool has entries".to_owned())),
        }
    });
    if let Some((provider, _)) = &found
        && let Some(active) = scene.vault.store.active_provider().filter(|id| *id != provider.id)
    {
        let text = format!("a key for `{}` comes before the login to `{active}`", provider.id);
        scene.notice(format!("auto:{}", provider.id), text);
    }
    found
}

fn by_login<'a>(scene: &mut Scene<'a>) -> Option<(&'a Provider, String)> {
    let id = scene.vault.store.active_provider()?;
    let provider = scene.table.get(id).filter(|provider| !scene.is_disabled(&provider.id))?;
    match scene.vault.store.login(id) {
        Some(login) if login.dead.is_none() => Some((provider, "logged in".to_owned())),
        // Only a named provider may fail for its login; an automatic choice looks further.
        Some(_) | None => {
            scene.trace(format!("provider `{id}`"), Verdict::Refused, "its login no longer works");
            None
        }
    }
}

fn by_aws<'a>(scene: &mut Scene<'a>) -> Option<(&'a Provider, String)> {
    let why = super::cloud::aws_ready(scene)?;
    let provider =
        scene.table.get("bedrock").filter(|provider| !scene.is_disabled(&provider.id))?;
    Some((provider, why))
}

fn has_variable(scene: &Scene<'_>, name: &str) -> bool {
    scene.variable(name).is_some_and(|text| usable(text).is_ok())
}

fn has_url(scene: &Scene<'_>, provider: &Provider) -> bool {
    provider.base_url_env.iter().any(|name| scene.setting_variable(name).is_some())
}

impl Scene<'_> {
    /// Whether the user wants OpenAI's key to serve the aggregator.
    pub(crate) fn openai_key_on_openrouter(&self) -> bool {
        let setting = self.settings.get("compat.openai_key_on_openrouter");
        setting.and_then(serde_json::Value::as_bool).unwrap_or(false)
    }

    /// Whether nobody named a provider.
    pub(crate) fn is_automatic(&self) -> bool {
        self.chosen_by == ChosenBy::Nobody || self.requested == "auto"
    }
}
