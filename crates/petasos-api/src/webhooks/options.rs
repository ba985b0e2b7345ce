//! Routes from the settings: what they are signed with, what they say, and how far they reach.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use petasos_contract::{Secret, Settings};
use serde_json::{Map, Value};

use crate::options::OptionsError;

const PORT: u16 = 8644;
const BODY_MAX: usize = 1_048_576;
/// Deliveries of a route in a minute.
const RATE: u32 = 30;
/// A turn of a route may take so long.
const DEADLINE: Duration = Duration::from_mins(10);
const KEY: &str = "platforms.webhook.extra";
/// Keys of a route that are known; others are refused, because a route that is not as it was meant
/// runs on its own.
const KNOWN: &[&str] = &[
    "events",
    "filters",
    "prompt",
    "secret",
    "secret_env",
    "session",
    "toolsets",
    "trusted",
    "allow_v1",
    "enabled",
    "deadline",
    "deliver",
];
/// Toolsets that can change files, and those that can carry something away.
const WRITES: &[&str] = &["file", "terminal", "code_execution"];
const CARRIES: &[&str] = &["web", "browser", "messaging", "terminal", "code_execution", "email"];

/// Which session a delivery belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionBy {
    /// One of its own.
    Delivery,
    /// That of the route.
    Route,
    /// Named by a template.
    Template(String),
}

/// One route.
#[derive(Debug, Clone)]
pub struct WebhookRoute {
    /// Its name, the end of its path.
    pub name: String,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) events: Vec<String>,
    pub(crate) filters: Map<String, Value>,
    pub(crate) prompt: String,
    pub(crate) session: SessionBy,
    pub(crate) toolsets: Option<Vec<String>>,
    pub(crate) deadline: Duration,
    pub(crate) enabled: bool,
    pub(crate) allow_v1: bool,
}

/// The settings of webhooks.
#[derive(Debug, Clone)]
pub struct WebhookOptions {
    /// Where they come in.
    pub address: SocketAddr,
    /// The routes.
    pub routes: BTreeMap<String, WebhookRoute>,
    pub(crate) body_max: usize,
    pub(crate) rate: u32,
}

fn wrong(key: &str, what: impl Into<String>) -> OptionsError {
    OptionsError::Setting { key: key.to_owned(), what: what.into() }
}

impl WebhookOptions {
    /// Reads them; nothing where webhooks are not enabled.
    pub fn read(settings: &Settings) -> Result<Option<Self>, OptionsError> {
        let enabled =
            settings.variable("WEBHOOK_ENABLED").map(|it| it.value.expose().to_lowercase());
        let enabled = enabled.map_or_else(
            || settings.get("platforms.webhook.enabled") == Some(&Value::Bool(true)),
            |word| ["1", "true", "yes", "on"].contains(&word.as_str()),
        );
        if enabled { Self::configured(settings).map(Some) } else { Ok(None) }
    }

    /// Reads them, enabled or not.
    pub fn configured(settings: &Settings) -> Result<Self, OptionsError> {
        let extra = |key: &str| settings.get(&format!("{KEY}.{key}"));
        let number = |key: &str| extra(key).and_then(Value::as_u64);
        let host = extra("host").and_then(Value::as_str);
        let ip = host.map_or(Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)), |host| {
            host.parse().map_err(|_| wrong("platforms.webhook.extra.host", "is no address"))
        })?;
        let port = settings.variable("WEBHOOK_PORT").map(|it| it.value.expose().to_owned());
        let port = match port {
            Some(text) => text.parse().map_err(|_| wrong("WEBHOOK_PORT", "is no port"))?,
            None => number("port").map_or(PORT, |port| u16::try_from(port).unwrap_or(PORT)),
        };
        let everybody = settings.variable("WEBHOOK_SECRET").map(|it| it.value.clone());
        let mut shared: Vec<Secret> = everybody.into_iter().collect();
        shared.extend(secrets(extra("secret")));
        let mut routes = BTreeMap::new();
        if let Some(Value::Object(listed)) = extra("routes") {
            for (name, entry) in listed {
                routes.insert(name.clone(), route(name, entry, &shared, settings)?);
            }
        }
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(Self {
            address: SocketAddr::new(ip, port),
            routes,
            body_max: number("max_body_bytes").map_or(BODY_MAX, count),
            rate: number("rate_limit").map_or(RATE, |it| u32::try_from(it).unwrap_or(u32::MAX)),
        })
    }
}

fn secrets(value: Option<&Value>) -> Vec<Secret> {
    let listed = match value {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => vec![text.as_str()],
        _ => Vec::new(),
    };
    listed.into_iter().filter(|text| !text.is_empty()).map(Secret::new).collect()
}

fn names(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn route(
    name: &str,
    entry: &Value,
    shared: &[Secret],
    settings: &Settings,
) -> Result<WebhookRoute, OptionsError> {
    let key = format!("{KEY}.routes.{name}");
    let plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(wrong(&key, "a route is named with letters, digits, - and _"));
    }
    let fields = entry.as_object().ok_or_else(|| wrong(&key, "a route has fields"))?;
    if let Some(strange) = fields.keys().find(|field| !KNOWN.contains(&field.as_str())) {
        let what = format!("`{strange}` is not known; there are {}", KNOWN.join(", "));
        return Err(wrong(&key, what));
    }
    let text = |field: &str| fields.get(field).and_then(Value::as_str);
    let flag =
        |field: &str, usual: bool| fields.get(field).and_then(Value::as_bool).unwrap_or(usual);
    if text("deliver").is_some_and(|target| target != "log") {
        return Err(wrong(&key, "`deliver` can only be `log` in this version"));
    }
    let mut own = secrets(fields.get("secret"));
    if let Some(variable) = text("secret_env") {
        let held = settings.variable(variable).map(|it| it.value.clone());
        own.push(held.ok_or_else(|| wrong(&key, format!("{variable} is not set")))?);
    }
    let secrets = if own.is_empty() { shared.to_vec() } else { own };
    if secrets.is_empty() {
        return Err(wrong(&key, "there is no secret: set `secret_env`, or WEBHOOK_SECRET"));
    }
    let toolsets = fields.get("toolsets").map(|value| names(Some(value)));
    if let Some(toolsets) = &toolsets {
        let has = |list: &[&str]| toolsets.iter().any(|it| list.contains(&it.as_str()));
        let preset = toolsets.iter().any(|it| it.starts_with("hermes-") && it != "hermes-webhook");
        if (preset || (has(WRITES) && has(CARRIES))) && !flag("trusted", false) {
            let what = "these toolsets can change files and carry them away; if you trust the sender, \
                        say `trusted: true`";
            return Err(wrong(&key, what));
        }
    }
    let session = match text("session") {
        None | Some("delivery") => SessionBy::Delivery,
        Some("route") => SessionBy::Route,
        Some(template) => SessionBy::Template(template.to_owned()),
    };
    let seconds = fields.get("deadline").and_then(Value::as_u64);
    let prompt = text("prompt").unwrap_or("{__raw__}").to_owned();
    let filters = fields.get("filters").and_then(Value::as_object).cloned().unwrap_or_default();
    Ok(WebhookRoute {
        name: name.to_owned(),
        secrets,
        events: names(fields.get("events")),
        filters,
        prompt,
        session,
        toolsets,
        deadline: seconds.map_or(DEADLINE, Duration::from_secs),
        enabled: flag("enabled", true),
        allow_v1: flag("allow_v1", false),
    })
}
