//! Putting a runtime together once provider, endpoint and key are known: model, dialect, headers.

use petasos_net::Credential;
use petasos_net::origin::{Scheme, is_below};
use serde_json::{Map, Value};

use super::anthropic::is_oauth;
use super::entry::{CustomEntry, overrides};
use super::keys::{Held, Key, Pending};
use super::saved::normal;
use super::scene::Scene;
use crate::mode::{self, ApiMode, ModeOption, Question, Wire};
use crate::runtime::{BaseUrl, EndpointKind, Overrides, ProviderRuntime, Source};
use crate::table::Provider;

/// What a rule found out.
pub(crate) struct Parts<'p> {
    pub(crate) id: String,
    pub(crate) url: BaseUrl,
    pub(crate) kind: EndpointKind,
    pub(crate) provider: Option<&'p Provider>,
    pub(crate) key: Option<Key>,
    /// The login that stands in for the key until it is renewed.
    pub(crate) pending: Option<Pending>,
    pub(crate) entry: Option<CustomEntry<'p>>,
    /// The dialect saved for this very endpoint.
    pub(crate) saved_mode: Option<&'p str>,
    pub(crate) model: Option<String>,
    /// Whether the endpoint is the one of the `model` section, whoever serves there.
    pub(crate) from_saved: bool,
}

impl Parts<'_> {
    pub(crate) fn new(id: &str, url: BaseUrl, kind: EndpointKind) -> Self {
        let id = id.to_owned();
        Self {
            id,
            url,
            kind,
            provider: None,
            key: None,
            pending: None,
            entry: None,
            saved_mode: None,
            model: None,
            from_saved: false,
        }
    }

    /// The same parts with what a login holds.
    pub(crate) fn holding(mut self, held: Held) -> Self {
        match held {
            Held::Token(key) => self.key = Some(key),
            Held::Renewal(pending) => self.pending = Some(pending),
        }
        self
    }
}

impl Scene<'_> {
    /// The runtime of the parts.
    pub(crate) fn assemble(&mut self, mut parts: Parts<'_>) -> ProviderRuntime {
        if let Some(url) = parts.key.as_mut().and_then(|key| key.endpoint.take()) {
            parts.url = *url;
        }
        let saved = parts.from_saved || self.is_saved_for(&parts.id);
        let own = saved && parts.entry.is_none();
        if let Some(provider) = parts.provider {
            self.trace_unused(&provider.key_env, "another key comes before it");
        }
        let model = self.model(&parts);
        let saved_mode = match self.request.api_mode.as_deref() {
            Some(asked) => Some(asked),
            None => parts.saved_mode.or_else(|| self.saved.api_mode.filter(|_| own)),
        };
        let api_mode = mode::mode(&Question {
            provider: &parts.id,
            url: &parts.url,
            model: model.as_deref().unwrap_or_default(),
            saved: saved_mode.and_then(ApiMode::parse),
            usual: parts.provider.map_or(ApiMode::ChatCompletions, |provider| provider.api_mode),
            option: self.mode_option(&parts),
        });
        let url = mode::settled(&parts.id, api_mode, &parts.url);
        let wire = mode::wire(&parts.id, api_mode, &url, saved_mode);
        let headers = self.headers(&parts, own);
        let overrides = self.overrides(&parts, own, model.as_deref());
        let pending = parts.pending.as_ref();
        let source = parts.key.as_ref().map(|key| key.source.clone());
        let source = source.or_else(|| pending.map(|pending| pending.source.clone()));
        let source = source.unwrap_or(Source::NoKeyRequired);
        let expiry = parts.key.as_ref().and_then(|key| key.expiry);
        let expiry = expiry.or_else(|| pending.map(Pending::expiry));
        let pool = parts.key.as_ref().and_then(|key| key.pool.clone());
        let credential = parts.key.map(|key| {
            let scheme = scheme(&url, wire, key.secret.expose());
            Credential { owner: key.owner, secret: key.secret, scope: key.scope, scheme }
        });
        ProviderRuntime {
            provider: parts.id,
            requested: self.requested.clone(),
            api_mode,
            wire,
            base_url: url,
            credential,
            source,
            expiry,
            pool,
            headers,
            overrides,
            model,
            endpoint_kind: parts.kind,
            launch: None,
            aws: None,
            notices: Vec::new(),
        }
    }

    /// Asked for, the entry's, the saved one when it is for this provider, the provider's.
    fn model(&self, parts: &Parts<'_>) -> Option<String> {
        let fits = self.saved.provider.is_none() || self.is_saved_for(&parts.id);
        let saved = self.saved.model.filter(|_| fits).map(str::to_owned);
        let variable =
            || self.settings.role("INFERENCE_MODEL").map(|found| found.value.expose().to_owned());
        let asked = self.request.model.clone().filter(|model| !model.is_empty());
        asked
            .or_else(|| parts.entry.and_then(|entry| entry.model()).map(str::to_owned))
            .or(saved)
            .or_else(|| self.saved.model.is_none().then(variable).flatten())
            .or_else(|| parts.model.clone())
            .or_else(|| parts.provider.and_then(|provider| provider.default_model.clone()))
    }

    fn mode_option(&self, parts: &Parts<'_>) -> ModeOption {
        let runtime = self.saved.get("openai_runtime").and_then(Value::as_str);
        if runtime == Some("codex_app_server") && parts.key.is_none() {
            return ModeOption::CodexAppServer;
        }
        let guarded = || self.settings.get("bedrock.guardrail").is_some();
        if parts.id == "bedrock" && (parts.key.is_some() || guarded()) {
            return ModeOption::BedrockConverse;
        }
        let own = parts.entry.is_some_and(|entry| entry.api_mode().is_some());
        if own || self.request.api_mode.is_some() {
            ModeOption::OwnEntry
        } else {
            ModeOption::Plain
        }
    }

    /// The provider's headers, then the user's: a later one replaces an earlier one.
    fn headers(&self, parts: &Parts<'_>, own: bool) -> Vec<(String, String)> {
        let provider = parts.provider.map_or_else(Vec::new, |provider| {
            provider.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
        });
        // Headers may hold secrets: like a key they go to the place they were written for.
        let home = |address: Option<&str>| {
            let address = address.and_then(|text| BaseUrl::parse(text).ok());
            self.request.base_url.is_none()
                || address.is_some_and(|address| address.origin() == parts.url.origin())
        };
        let saved = own && home(self.saved.base_url);
        let saved = if saved { self.saved.headers() } else { Vec::new() };
        let entry = parts.entry.filter(|entry| home(entry.url()));
        let named = |(header, variable): (String, String)| {
            Some((header, self.variable(&variable)?.trim().to_owned()))
        };
        let entry = entry.map_or_else(Vec::new, |entry| {
            let from_variables = entry.env_headers().into_iter().filter_map(named);
            entry.headers().into_iter().chain(from_variables).collect()
        });
        let mut headers: Vec<(String, String)> = Vec::new();
        for (name, value) in provider.into_iter().chain(saved).chain(entry) {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            headers.push((name, value));
        }
        headers
    }

    fn overrides(&self, parts: &Parts<'_>, own: bool, model: Option<&str>) -> Overrides {
        let nothing = Map::new();
        let section =
            self.settings.get("providers").and_then(|map| map.get(&parts.id)?.as_object());
        let section = parts.entry.map_or(section.unwrap_or(&nothing), |entry| entry.fields());
        let mut changes = overrides(section);
        let number = |name: &str| self.saved.get(name).and_then(Value::as_u64);
        if own {
            changes.max_output_tokens = number("max_tokens").or(changes.max_output_tokens);
        }
        // What is written about a model says more than what is written about its endpoint.
        let about = |models: Option<&Value>| {
            models?.get(model?)?.get("context_length").and_then(Value::as_u64)
        };
        let described = own || parts.entry.is_some_and(|entry| self.is_saved_entry(&entry));
        let chosen = number("context_length").filter(|_| described && self.is_saved_model(model));
        changes.context_length = chosen
            .or_else(|| about(section.get("models")))
            .or_else(|| about(self.settings.get("models")))
            .or(changes.context_length)
            .filter(|tokens| *tokens > 0);
        changes
    }

    /// Whether the section `model` names this entry.
    fn is_saved_entry(&self, entry: &CustomEntry<'_>) -> bool {
        let named = self.saved.provider.as_deref().unwrap_or_default();
        normal(named.strip_prefix("custom:").unwrap_or(named)) == normal(entry.name)
    }

    /// Whether the section `model` is about this model: it names it, or none.
    fn is_saved_model(&self, model: Option<&str>) -> bool {
        self.saved.model.is_none_or(|saved| model.is_none_or(|model| model == saved))
    }
}

/// How the secret travels. Messages endpoints want their own header, except for tokens of a login
/// and the hosts that took over OpenAI's way.
fn scheme(url: &BaseUrl, wire: Wire, secret: &str) -> Scheme {
    let host = url.url().domain().unwrap_or_default();
    let below = |suffix| is_below(host, suffix);
    match wire {
        Wire::Gemini => Scheme::Header("x-goog-api-key"),
        Wire::AnthropicMessages => {
            let native = below("anthropic.com") || below("claude.com");
            let bearer = [
                "azure.com",
                "googleapis.com",
                "palantirfoundry.com",
                "minimax.io",
                "minimaxi.com",
            ];
            let bearer = bearer.into_iter().any(below) || below("githubcopilot.com");
            if (native && is_oauth(secret)) || bearer {
                Scheme::Bearer
            } else {
                Scheme::Header("x-api-key")
            }
        }
        Wire::ChatCompletions
        | Wire::CodexResponses
        | Wire::BedrockConverse
        | Wire::CodexAppServer
        | Wire::CopilotAcp
        | Wire::Virtual => Scheme::Bearer,
    }
}
