//! How the server is set up, read once from the settings; what cannot be served safely is refused.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use petasos_contract::settings::Source;
use petasos_contract::{Secret, Settings};
use serde_json::Value;

use crate::keys::{ApiScope, NamedKey};

const PORT: u16 = 8642;
/// Shorter keys can be guessed.
const KEY_MIN: usize = 16;
/// Turns at once.
const RUNS: usize = 10;
/// Requests of a key in a minute.
const RATE: u32 = 6_000;
/// A turn in which nothing happens for so long is over, in seconds.
const SILENT: f64 = 1800.0;
/// How commands can be confined.
const SANDBOXES: [&str; 3] = ["off", "workspace", "readonly"];
/// What a model is called when nobody says otherwise, and always.
const MODEL: &str = "petasos";
pub(crate) const ALIAS: &str = "hermes-agent";

/// A name that clients may ask for, and what it leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelRoute {
    /// The model; the configured one when absent.
    pub model: Option<String>,
    /// The provider; the configured one when absent.
    pub provider: Option<String>,
}

/// Wishes that loosen what the server accepts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Leniency {
    /// Any model name means the configured one.
    pub any_model: bool,
    /// Tools that a client brings are dropped and named instead of refused.
    pub client_tools: bool,
}

/// The settings of the server.
#[derive(Debug, Clone)]
pub struct ApiOptions {
    /// Where it listens.
    pub address: SocketAddr,
    /// Keys besides the tokens of the store.
    pub keys: Vec<NamedKey>,
    /// Names beside those of this machine by which it may be addressed.
    pub hosts: Vec<String>,
    /// Pages that may use it.
    pub origins: Vec<String>,
    /// The names of models, the usual one first.
    pub models: BTreeMap<String, ModelRoute>,
    /// The name of the usual one.
    pub model: String,
    /// What is accepted though it means nothing here.
    pub lenient: Leniency,
    /// Whether what the model thinks is shown.
    pub reasoning: bool,
    /// So many turns at once; zero means any number.
    pub runs_max: usize,
    /// So many requests of a key in a minute; zero means any number.
    pub rate: u32,
    /// A turn in which nothing happens for so long is over; none when absent.
    pub silence: Option<Duration>,
}

/// Why there is no server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A setting cannot be used.
    #[error("`{key}`: {what}")]
    Setting {
        /// Where it stands.
        key: String,
        /// What is wrong and what to do.
        what: String,
    },
    /// Nobody could be let in.
    #[error(
        "there is no key: `petasos serve token create NAME` makes one, or set API_SERVER_KEY to at \
         least 16 characters"
    )]
    NoKey,
    /// Other machines could run commands here.
    #[error(
        "`{0}` can be reached from other machines and local commands are not confined: remove \
         `terminal.sandbox: off`, or set `platforms.api_server.extra.allow_unsandboxed: true`"
    )]
    Unconfined(SocketAddr),
}

fn wrong(key: &str, what: impl Into<String>) -> OptionsError {
    OptionsError::Setting { key: key.to_owned(), what: what.into() }
}

/// One setting by its variable or its key; the variable wins.
fn word(settings: &Settings, variable: &str, key: &str) -> Option<String> {
    let set = settings.variable(variable).map(|it| it.value.expose().to_owned());
    let set = set.filter(|text| !text.is_empty());
    set.or_else(|| match extra(settings, key)? {
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    })
}

fn extra<'a>(settings: &'a Settings, key: &str) -> Option<&'a Value> {
    let own = settings.get(&format!("platforms.api_server.extra.{key}"));
    own.or_else(|| settings.get(&format!("platforms.api_server.{key}")))
}

fn flag(settings: &Settings, key: &str) -> bool {
    extra(settings, key) == Some(&Value::Bool(true))
}

/// Whether the gateway should serve it too.
pub fn is_enabled(settings: &Settings) -> bool {
    let words = ["1", "true", "yes", "on"];
    let on = settings.variable("API_SERVER_ENABLED").map(|it| it.value.expose().to_lowercase());
    match on {
        Some(word) => words.contains(&word.as_str()),
        None => settings.get("platforms.api_server.enabled") == Some(&Value::Bool(true)),
    }
}

impl ApiOptions {
    /// Reads them. `profile` is what the model is called unless somebody says otherwise; `listen`
    /// is where whoever starts the server wants it.
    pub fn read(
        settings: &Settings,
        profile: Option<&str>,
        listen: (Option<IpAddr>, Option<u16>),
    ) -> Result<Self, OptionsError> {
        if extra(settings, "key").is_some() {
            let what = "secrets do not belong into the file: put API_SERVER_KEY into `.env`";
            return Err(wrong("platforms.api_server.extra.key", what));
        }
        let host = word(settings, "API_SERVER_HOST", "host");
        let ip = match host.as_deref() {
            None | Some("localhost") => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(host) => host.parse().map_err(|_| {
                wrong("API_SERVER_HOST", format!("`{host}` is no address: 127.0.0.1, 0.0.0.0, ::1"))
            })?,
        };
        let port = word(settings, "API_SERVER_PORT", "port");
        let port = port.map_or(Ok(PORT), |text| {
            text.parse().map_err(|_| wrong("API_SERVER_PORT", format!("`{text}` is no port")))
        })?;
        let ip = listen.0.unwrap_or(ip);
        let address = SocketAddr::new(ip, listen.1.unwrap_or(port));
        let model = word(settings, "API_SERVER_MODEL_NAME", "model_name");
        let model =
            model.or_else(|| profile.map(str::to_owned)).unwrap_or_else(|| MODEL.to_owned());
        let models = models(settings, &model)?;
        let keys = keys(settings)?;
        let origins = origins(settings, !keys.is_empty())?;
        let runs_max = settings.get("gateway.api_server.max_concurrent_runs");
        let runs_max = runs_max.or_else(|| extra(settings, "max_concurrent_runs"));
        let runs_max = runs_max.and_then(Value::as_u64).map_or(RUNS, to_count);
        let hosts = names(extra(settings, "hosts"));
        let lenient = Leniency {
            any_model: flag(settings, "accept_any_model"),
            client_tools: flag(settings, "ignore_client_tools"),
        };
        let reasoning = flag(settings, "show_reasoning");
        let unconfined =
            is_unconfined(settings) || keys.iter().any(|key| key.sandbox.as_deref() == Some("off"));
        if !ip.is_loopback() && unconfined && !flag(settings, "allow_unsandboxed") {
            return Err(OptionsError::Unconfined(address));
        }
        let rate = count(extra(settings, "rate_limit"), "platforms.api_server.extra.rate_limit")?;
        let silence = silence(settings);
        Ok(Self {
            address,
            keys,
            hosts,
            origins,
            models,
            model,
            lenient,
            reasoning,
            runs_max,
            rate: rate.unwrap_or(RATE),
            silence,
        })
    }

    /// The route of a name; nothing when no model is called so.
    pub(crate) fn route(&self, name: &str) -> Option<ModelRoute> {
        let usual = name == ALIAS || name.is_empty() || self.lenient.any_model;
        self.models.get(name).cloned().or_else(|| usual.then(ModelRoute::default))
    }
}

/// A number of requests, where one is written.
fn count(value: Option<&Value>, key: &str) -> Result<Option<u32>, OptionsError> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number.map(Some).ok_or_else(|| wrong(key, "must be requests in a minute; 0 is any number"))
}

/// How long a turn may be silent; zero is for ever.
pub fn silence(settings: &Settings) -> Option<Duration> {
    let seconds = settings.get("agent.gateway_timeout").and_then(Value::as_f64);
    let seconds = seconds.filter(|it| *it >= 0.0).unwrap_or(SILENT);
    Duration::try_from_secs_f64(seconds).ok().filter(|it| !it.is_zero())
}

fn to_count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Somebody chose to run local commands without confinement.
fn is_unconfined(settings: &Settings) -> bool {
    let local = settings.text("terminal.backend").is_none_or(|backend| backend == "local");
    let chosen = settings.explain("terminal.sandbox").first();
    let chosen = chosen
        .is_some_and(|layer| !matches!(layer.source, Source::Default | Source::Project { .. }));
    local && chosen && settings.text("terminal.sandbox") == Some("off")
}

fn names(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::String(text)) => split(text),
        _ => Vec::new(),
    }
}

fn split(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

fn models(settings: &Settings, usual: &str) -> Result<BTreeMap<String, ModelRoute>, OptionsError> {
    const KEY: &str = "platforms.api_server.extra.model_routes";
    let mut found = BTreeMap::from([(usual.to_owned(), ModelRoute::default())]);
    let routes = match extra(settings, "model_routes") {
        None | Some(Value::Null) => return Ok(found),
        Some(Value::Object(routes)) => routes,
        Some(_) => return Err(wrong(KEY, "must be names, each with `model` and `provider`")),
    };
    for (name, route) in routes {
        let part = |key: &str| route.get(key).and_then(Value::as_str).map(str::to_owned);
        let model = part("model").or_else(|| route.as_str().map(str::to_owned));
        if model.is_none() && part("provider").is_none() {
            return Err(wrong(KEY, format!("`{name}` leads nowhere: give it a `model`")));
        }
        found.insert(name.clone(), ModelRoute { model, provider: part("provider") });
    }
    Ok(found)
}

fn origins(settings: &Settings, keyed: bool) -> Result<Vec<String>, OptionsError> {
    const KEY: &str = "API_SERVER_CORS_ORIGINS";
    let found = match settings.variable(KEY) {
        Some(variable) => split(variable.value.expose()),
        None => names(extra(settings, "cors_origins")),
    };
    for origin in &found {
        if origin == "*" && keyed {
            return Err(wrong(KEY, "`*` is refused beside a key: name the pages"));
        }
        let shaped = origin.split_once("://").is_some_and(|(scheme, rest)| {
            matches!(scheme, "http" | "https") && !rest.is_empty() && !rest.contains('/')
        });
        if !shaped && origin != "*" {
            let what =
                format!("`{origin}` is no origin: write https://example.com, without a path");
            return Err(wrong(KEY, what));
        }
    }
    Ok(found)
}

fn keys(settings: &Settings) -> Result<Vec<NamedKey>, OptionsError> {
    let mut found = Vec::new();
    if let Some(variable) = settings.variable("API_SERVER_KEY") {
        let key = usable("API_SERVER_KEY", &variable.value)?;
        let (name, scopes) = ("default".to_owned(), vec![ApiScope::Admin]);
        found.push(NamedKey { name, key, scopes, toolsets: None, sandbox: None, rate: None });
    }
    let listed = extra(settings, "keys").and_then(Value::as_array).cloned().unwrap_or_default();
    for entry in &listed {
        found.push(named(entry, settings)?);
    }
    Ok(found)
}

fn named(entry: &Value, settings: &Settings) -> Result<NamedKey, OptionsError> {
    const KEY: &str = "platforms.api_server.extra.keys";
    let part = |key: &str| entry.get(key).and_then(Value::as_str);
    let name = part("name").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| wrong(KEY, "every key has a `name`"))?.to_owned();
    if name == "default" {
        return Err(wrong(KEY, "`default` is the name of API_SERVER_KEY: choose another"));
    }
    let variable = part("key_env").ok_or_else(|| {
        wrong(KEY, format!("`{name}` has no `key_env`: name the variable that holds the key"))
    })?;
    let held = settings.variable(variable).map(|it| it.value.clone());
    let held = held.ok_or_else(|| wrong(KEY, format!("{variable} of `{name}` is not set")))?;
    let key = usable(variable, &held)?;
    let mut scopes = Vec::new();
    for word in names(entry.get("scopes")) {
        let scope = ApiScope::named(&word);
        scopes.push(scope.ok_or_else(|| wrong(KEY, format!("`{word}` of `{name}` is no scope")))?);
    }
    if scopes.is_empty() {
        return Err(wrong(KEY, format!("`{name}` has no `scopes`: it could do nothing")));
    }
    let toolsets = entry.get("toolsets").map(|value| names(Some(value)));
    let sandbox = part("sandbox").map(str::to_owned);
    if sandbox.as_ref().is_some_and(|level| !SANDBOXES.contains(&level.as_str())) {
        let what = format!("`sandbox` of `{name}` is one of {}", SANDBOXES.join(", "));
        return Err(wrong(KEY, what));
    }
    let rate = count(entry.get("rate_limit"), KEY)?;
    Ok(NamedKey { name, key, scopes, toolsets, sandbox, rate })
}

/// A key that cannot be guessed by trying what everybody writes first.
fn usable(variable: &str, key: &Secret) -> Result<Secret, OptionsError> {
    let text = key.expose();
    let lower = text.to_lowercase();
    let placeholders = ["changeme", "change-me", "placeholder", "your-", "your_", "example"];
    let one_sign = text.chars().collect::<std::collections::BTreeSet<_>>().len() < 4;
    if text.chars().count() < KEY_MIN {
        let what =
            format!("has fewer than {KEY_MIN} characters: `openssl rand -hex 32` makes a good one");
        return Err(wrong(variable, what));
    }
    if one_sign || placeholders.iter().any(|word| lower.contains(word)) {
        return Err(wrong(variable, "is a placeholder: `openssl rand -hex 32` makes a good one"));
    }
    Ok(key.clone())
}
