//! Choosing the endpoint of a known provider, and judging whether its key may go there.
//!
//! Order: request, saved with the same provider, variable, usual. The path of a URL never earns
//! trust; only its host does, or a grant that the user wrote down.

use super::scene::Scene;
use super::{ResolveError, Verdict};
use crate::runtime::BaseUrl;
use crate::table::Provider;

/// Where an endpoint came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    Request,
    Saved,
    Variable,
    Usual,
}

/// Which keys may go to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It is the provider's own host.
    Own,
    /// The user granted it to the provider's key.
    Granted,
    /// Only a key that was given together with it.
    KeyWithIt,
}

/// A judged endpoint.
#[derive(Debug, Clone)]
pub(crate) struct Endpoint {
    pub(crate) url: BaseUrl,
    pub(crate) from: From,
    pub(crate) trust: Trust,
}

/// What is passed over with a warning instead of being an error. Providers differ because some
/// leave their traces in configurations and shells more often than others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lenience {
    /// Nothing.
    None,
    /// A foreign variable.
    Variable,
    /// A foreign variable, and a saved endpoint of another provider.
    VariableAndOther,
    /// A foreign variable, and every foreign saved endpoint.
    All,
}

/// The endpoint of a provider.
pub(crate) fn endpoint(
    scene: &mut Scene<'_>,
    provider: &Provider,
    lenience: Lenience,
) -> Result<Endpoint, ResolveError> {
    let chosen = choose(scene, provider, lenience)?;
    let place = match chosen.from {
        From::Request => "given with the request",
        From::Saved => "saved in `model.base_url`",
        From::Variable => "from a variable",
        From::Usual => "the provider's usual one",
    };
    scene.trace(format!("endpoint {}", chosen.url), Verdict::Taken, place);
    if matches!(chosen.from, From::Request | From::Saved) {
        scene.trace_unused(&provider.base_url_env, "a chosen endpoint comes before it");
    }
    Ok(chosen)
}

fn choose(
    scene: &mut Scene<'_>,
    provider: &Provider,
    lenience: Lenience,
) -> Result<Endpoint, ResolveError> {
    if let Some(url) = scene.explicit_url()? {
        let trust = judge(scene, provider, &url, From::Request);
        return Ok(Endpoint { url, from: From::Request, trust });
    }
    if let Some(chosen) = saved(scene, provider, lenience)? {
        return Ok(chosen);
    }
    if let Some(chosen) = variable(scene, provider, lenience)? {
        return Ok(chosen);
    }
    usual(scene, provider)
}

fn saved(
    scene: &mut Scene<'_>,
    provider: &Provider,
    lenience: Lenience,
) -> Result<Option<Endpoint>, ResolveError> {
    let Some(text) = scene.saved.base_url.filter(|_| scene.is_saved_for(&provider.id)) else {
        return Ok(None);
    };
    let url = scene.parse_url(text, "`model.base_url`")?;
    let trust = judge(scene, provider, &url, From::Saved);
    let has_key = scene.saved.api_key.is_some() || scene.saved.key_env.is_some();
    let other = other_owner(scene, provider, &url);
    let foreign = trust == Trust::KeyWithIt;
    if foreign && other.is_some() && lenience == Lenience::None {
        return Err(belongs_to_other(provider, &url, &other.unwrap_or_default()));
    }
    let ignored = match lenience {
        Lenience::None | Lenience::Variable => false,
        Lenience::VariableAndOther => other.is_some(),
        Lenience::All => !has_key,
    };
    if foreign && ignored {
        pass_over(scene, provider, &url, "`model.base_url`");
        return Ok(None);
    }
    if foreign && !has_key && !has_explicit_key(scene) {
        return Err(not_allowed(provider, &url, "`model.base_url`"));
    }
    Ok(Some(Endpoint { url, from: From::Saved, trust }))
}

fn variable(
    scene: &mut Scene<'_>,
    provider: &Provider,
    lenience: Lenience,
) -> Result<Option<Endpoint>, ResolveError> {
    let found =
        provider.base_url_env.iter().find_map(|name| Some((name, scene.setting_variable(name)?)));
    let Some((name, text)) = found else { return Ok(None) };
    let place = format!("the variable `{name}`");
    let url = scene.parse_url(text, &place)?;
    let trust = judge(scene, provider, &url, From::Variable);
    if trust != Trust::KeyWithIt {
        return Ok(Some(Endpoint { url, from: From::Variable, trust }));
    }
    if lenience != Lenience::None {
        pass_over(scene, provider, &url, &place);
        return Ok(None);
    }
    match other_owner(scene, provider, &url) {
        Some(other) => Err(belongs_to_other(provider, &url, &other)),
        None => Err(not_allowed(provider, &url, &place)),
    }
}

fn usual(scene: &Scene<'_>, provider: &Provider) -> Result<Endpoint, ResolveError> {
    let Some(text) = provider.base_url.as_deref() else {
        let message = format!("`{}` needs an endpoint", provider.id);
        let error = ResolveError::new("missing_base_url", &provider.id, message);
        let hint = match provider.base_url_env.last() {
            Some(name) => format!("set `{name}`, or `model.base_url` in config.yaml"),
            None => "set `model.base_url` in config.yaml".to_owned(),
        };
        return Err(error.hint(hint));
    };
    let url = scene.parse_url(text, "the provider table")?;
    Ok(Endpoint { url, from: From::Usual, trust: Trust::Own })
}

fn judge(scene: &Scene<'_>, provider: &Provider, url: &BaseUrl, from: From) -> Trust {
    if provider.owns(url.url()) {
        return Trust::Own;
    }
    let chosen = matches!(from, From::Request | From::Saved);
    let openai = provider.id == "openai-api" && chosen && scene.openai_key_may_go(url).is_ok();
    let other = other_owner(scene, provider, url).is_some();
    let granted = from != From::Request && scene.host_is_granted(&provider.id, url.url());
    if openai || (granted && !other) { Trust::Granted } else { Trust::KeyWithIt }
}

fn other_owner(scene: &Scene<'_>, provider: &Provider, url: &BaseUrl) -> Option<String> {
    let owner = scene.table.owner_of(url.url())?;
    (owner.id != provider.id).then(|| owner.id.clone())
}

fn has_explicit_key(scene: &Scene<'_>) -> bool {
    scene.request.api_key.is_some() || scene.request.key_env.is_some()
}

fn pass_over(scene: &mut Scene<'_>, provider: &Provider, url: &BaseUrl, place: &str) {
    let why = format!("the key of `{}` may not go there", provider.id);
    scene.notice(format!("url:{url}"), format!("{place} is passed over: {why}"));
    scene.trace(format!("endpoint {url} from {place}"), Verdict::Refused, why);
}

fn belongs_to_other(provider: &Provider, url: &BaseUrl, other: &str) -> ResolveError {
    let message = format!("`{url}` belongs to `{other}` and not to `{}`", provider.id);
    let error = ResolveError::new("url_of_other_provider", &provider.id, message);
    error.hint(format!("remove `base_url`, or set `model.provider: {other}`"))
}

/// The error for a key that may not go to a host, naming the line that would allow it.
pub(crate) fn not_allowed(provider: &Provider, url: &BaseUrl, place: &str) -> ResolveError {
    let message = format!(
        "the key of `{}` may not go to `{}`, which comes from {place}",
        provider.id,
        url.host()
    );
    let error = ResolveError::new("key_not_allowed_for_host", &provider.id, message);
    error.hint(
        "if you trust that host, add `allow_key_to_host: true` to the `model` section of \
         config.yaml, or give it its own key with `api_key` or `key_env`",
    )
}

/// The error for an endpoint of the request that came without a key.
pub(crate) fn needs_key(provider: &Provider, url: &BaseUrl) -> ResolveError {
    let message = format!("`{url}` is not an endpoint of `{}` and came without a key", provider.id);
    let error = ResolveError::new("explicit_url_needs_key", &provider.id, message);
    error.hint("give the key together with the URL, or use `--provider custom`")
}

impl<'a> Scene<'a> {
    /// A setting variable: the `PETASOS_` spelling of a `HERMES_` name comes first.
    pub(crate) fn setting_variable(&self, name: &str) -> Option<&'a str> {
        let own = name.strip_prefix("HERMES_").map(|rest| format!("PETASOS_{rest}"));
        own.and_then(|own| self.variable(&own)).or_else(|| self.variable(name))
    }
}
