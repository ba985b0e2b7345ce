//! Endpoints of the user's own: named entries, `custom` with a URL, a saved URL without a
//! provider, and servers found on this machine.

use super::assemble::Parts;
use super::entry::CustomEntry;
use super::keys::{Claim, Key};
use super::scene::Scene;
use super::{Outcome, ResolveError, Verdict};
use crate::credential::command::SecretCommand;
use crate::local;
use crate::runtime::{BaseUrl, EndpointKind, ProviderRuntime, Source};

/// An entry of the user's own, by name. A built-in id is never hidden, an alias may be.
pub(crate) fn named(scene: &mut Scene<'_>) -> Option<Outcome> {
    let requested = scene.requested.clone();
    let name = requested.strip_prefix("custom:");
    if name.is_none() && requested != "custom" && scene.table.get(&requested).is_some() {
        return None;
    }
    let entry = CustomEntry::find(scene.settings, name.unwrap_or(&requested));
    match (entry, name) {
        (Some(entry), _) => Some(from_entry(scene, entry)),
        (None, None) => None,
        (None, Some(name)) => {
            let message = format!("there is no custom provider named `{name}`");
            let error = ResolveError::new("invalid_provider", &requested, message);
            Some(Err(error.hint("add it to `custom_providers` in config.yaml")))
        }
    }
}

fn from_entry(scene: &mut Scene<'_>, entry: CustomEntry<'_>) -> Outcome {
    if entry.is_disabled() {
        let message = format!("the custom provider `{}` is switched off", entry.name);
        return Err(ResolveError::new("provider_disabled", &scene.requested, message));
    }
    let place = format!("the custom provider `{}`", entry.name);
    let (url, own) = if let Some(url) = scene.explicit_url()? {
        (url, false)
    } else {
        let url = scene.parse_url(entry.url().unwrap_or_default(), &place)?;
        (url.with_query(&entry.query()), true)
    };
    scene.trace(format!("endpoint {url}"), Verdict::Taken, format!("from {place}"));
    let claim = Claim::exactly(entry.name, &url);
    let key = scene
        .explicit_key(&claim)
        .or_else(|| own.then(|| entry_key(scene, entry, &claim)).flatten())
        .or_else(|| ambient(scene, &url));
    let mut parts = Parts::new("custom", url, EndpointKind::Custom);
    parts.key = key;
    parts.entry = Some(entry);
    parts.saved_mode = entry.api_mode();
    Ok(scene.assemble(parts))
}

/// The key that belongs to an entry: written into it, named by it, or in its pool.
fn entry_key(scene: &mut Scene<'_>, entry: CustomEntry<'_>, claim: &Claim) -> Option<Key> {
    let source = Source::CustomEntry(entry.name.to_owned());
    let what = format!("`api_key` of the custom provider `{}`", entry.name);
    let inline =
        entry.api_key().and_then(|text| scene.text_key(text, &what, source.clone(), claim));
    let named = |scene: &mut Scene<'_>| {
        let mut key = scene.granted_variable_key(entry.key_env()?, claim)?;
        key.source = source.clone();
        Some(key)
    };
    let printed = |scene: &mut Scene<'_>| {
        let command = SecretCommand::of_fields(&|name| entry.fields().get(name).cloned())?;
        let what = format!("`api_key_command` of the custom provider `{}`", entry.name);
        scene.printed_key(command, &what, claim)
    };
    let pool = format!("custom:{}", super::saved::normal(entry.name));
    inline
        .or_else(|| named(scene))
        .or_else(|| printed(scene))
        .or_else(|| scene.pool_key(&pool, claim))
}

/// Keys that nobody named for this endpoint but that may go there.
fn ambient(scene: &mut Scene<'_>, url: &BaseUrl) -> Option<Key> {
    scene.host_key(url.url()).or_else(|| scene.openai_key(url))
}

/// `custom` itself and its spellings.
pub(crate) fn plain(scene: &mut Scene<'_>) -> Option<Outcome> {
    (scene.provider?.id == "custom").then(|| at_custom(scene))
}

fn at_custom(scene: &mut Scene<'_>) -> Outcome {
    if let Some(url) = scene.explicit_url()? {
        return Ok(explicit(scene, url));
    }
    if let Some(text) = scene.saved.base_url {
        let url = scene.parse_url(text, "`model.base_url`")?;
        let here = url.origin().is_some_and(|origin| origin.is_loopback());
        if scene.saved.provider.is_none() || scene.is_saved_for("custom") || here {
            return Ok(saved(scene, url));
        }
        scene.trace(format!("endpoint {url}"), Verdict::Passed, "saved for another provider");
    }
    for name in ["CUSTOM_BASE_URL", "OPENAI_BASE_URL"] {
        let Some(text) = scene.variable(name) else { continue };
        let url = scene.parse_url(text, &format!("the variable `{name}`"))?;
        scene.trace(
            format!("endpoint {url}"),
            Verdict::Taken,
            format!("from the variable `{name}`"),
        );
        let claim = Claim::exactly("custom", &url);
        // A variable may be left over from another day: it brings no key but its own host's.
        let key = scene.explicit_key(&claim).or_else(|| scene.host_key(url.url()));
        if key.is_none() && scene.variable("OPENAI_API_KEY").is_some() {
            let why =
                "the endpoint comes from a variable; save it as `model.base_url` to use this key";
            scene.trace("variable `OPENAI_API_KEY`", Verdict::Refused, why);
        }
        let mut parts = Parts::new("custom", url, EndpointKind::Custom);
        parts.key = key;
        return Ok(scene.assemble(parts));
    }
    if let Some(text) = local::usual_endpoint(&scene.requested) {
        let url = scene.parse_url(text, "the usual place of a local server")?;
        scene.trace(format!("endpoint {url}"), Verdict::Taken, "the usual place of this server");
        return Ok(scene.assemble(Parts::new("custom", url, EndpointKind::Local)));
    }
    let message = "a custom provider needs a base URL".to_owned();
    let error = ResolveError::new("custom_needs_base_url", "custom", message);
    Err(error.hint("set `model.base_url` in config.yaml"))
}

/// An endpoint given with the request.
pub(crate) fn explicit(scene: &mut Scene<'_>, url: BaseUrl) -> ProviderRuntime {
    scene.trace(format!("endpoint {url}"), Verdict::Taken, "given with the request");
    let claim = Claim::exactly("custom", &url);
    let key = scene
        .explicit_key(&claim)
        .or_else(|| entry_at(scene, &url))
        .or_else(|| ambient(scene, &url));
    let mut parts = Parts::new("custom", url, EndpointKind::Custom);
    parts.key = key;
    scene.assemble(parts)
}

/// An endpoint saved in the `model` section.
fn saved(scene: &mut Scene<'_>, url: BaseUrl) -> ProviderRuntime {
    scene.trace(format!("endpoint {url}"), Verdict::Taken, "saved in `model.base_url`");
    let claim = Claim::exactly("custom", &url);
    let key = scene
        .explicit_key(&claim)
        .or_else(|| scene.saved_key(&claim))
        .or_else(|| entry_at(scene, &url))
        .or_else(|| ambient(scene, &url));
    let mut parts = Parts::new("custom", url, EndpointKind::Custom);
    parts.key = key;
    parts.saved_mode = scene.saved.api_mode;
    parts.from_saved = true;
    scene.assemble(parts)
}

/// The key of the entry that has this same endpoint.
fn entry_at(scene: &mut Scene<'_>, url: &BaseUrl) -> Option<Key> {
    let settings = scene.settings;
    let entry = CustomEntry::all(settings).find(|entry| {
        let own = entry.url().and_then(|text| BaseUrl::parse(text).ok());
        own.is_some_and(|own| own == *url) && !entry.is_disabled()
    })?;
    let mut key = entry_key(scene, entry, &Claim::exactly(entry.name, url))?;
    key.source = Source::CustomEntryByUrl(entry.name.to_owned());
    Some(key)
}

/// A URL that was saved without a provider: keys lying about must not lead away from it.
pub(crate) fn saved_endpoint(scene: &mut Scene<'_>) -> Option<Outcome> {
    let asked = scene.request.provider.as_deref().map(super::saved::normal);
    let unasked = asked.is_none_or(|name| name.is_empty() || name == "auto");
    if !unasked || scene.request.base_url.is_some() || scene.saved.provider.is_some() {
        return None;
    }
    let text = scene.saved.base_url?;
    let url = match scene.parse_url(text, "`model.base_url`") {
        Ok(url) => url,
        Err(error) => return Some(Err(error)),
    };
    let owner = scene.table.owner_of(url.url()).map(|owner| owner.id.as_str());
    if let Some(id @ ("openrouter" | "anthropic" | "openai-api")) = owner {
        let why = "the saved endpoint is its own";
        scene.trace(format!("provider `{id}`"), Verdict::Taken, why);
        scene.provider = scene.table.get(id);
        scene.saved.provider = Some(id.to_owned());
        return None;
    }
    Some(Ok(saved(scene, url)))
}

/// The first server found on this machine, as the last resort of an automatic choice.
pub(crate) fn local(scene: &mut Scene<'_>) -> Option<Outcome> {
    let server = scene.vault.local.first()?;
    let url = BaseUrl::parse(&server.base_url).ok()?;
    let text = format!("nothing is configured; the {} server at {url} is used", server.name);
    scene.notice("auto:local", text.clone());
    scene.trace(format!("endpoint {url}"), Verdict::Taken, text);
    let mut parts = Parts::new("custom", url, EndpointKind::Local);
    parts.model = server.models.first().cloned();
    Some(Ok(scene.assemble(parts)))
}
