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
    "deliver_extra",
    "deliver_only",
    "script",
    "skills",
    "description",
    "created_at",
];
/// What a secret is called that is none.
const NO_SECRET: &str = "INSECURE_NO_AUTH";
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

/// Which deliveries are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Those that are signed with a time, or by a scheme that has none.
    Signed,
    /// Also those of the first generic scheme, which anybody who sees one can repeat.
    SignedOnce,
    /// All: on this machine alone, and only where whoever started it said so.
    All,
}

/// Where the answer of a route goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deliver {
    /// Into the log of runs alone.
    Log,
    /// To a target that is written in the settings.
    To(String),
    /// To a chat whose id comes from the payload.
    Chat {
        /// Where.
        platform: String,
        /// A template of its id.
        chat: String,
        /// A template of the thread's.
        thread: Option<String>,
    },
    /// Under an issue or a pull request.
    Comment {
        /// A template of `owner/name`.
        repo: String,
        /// A template of its number.
        number: String,
    },
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
    pub(crate) takes: Takes,
    pub(crate) deliver: Deliver,
    /// No turn: the text of the template is delivered as it is.
    pub(crate) direct: bool,
    pub(crate) script: Option<String>,
    pub(crate) skills: Vec<String>,
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
    /// The secrets of routes that have none of their own.
    shared: Vec<Secret>,
    insecure: bool,
}

fn wrong(key: &str, what: impl Into<String>) -> OptionsError {
    OptionsError::Setting { key: key.to_owned(), what: what.into() }
}

impl WebhookOptions {
    /// Reads them; nothing where webhooks are not enabled. With `insecure`, whoever starts the
    /// program takes routes without a secret, on this machine alone.
    pub fn read(settings: &Settings, insecure: bool) -> Result<Option<Self>, OptionsError> {
        let enabled =
            settings.variable("WEBHOOK_ENABLED").map(|it| it.value.expose().to_lowercase());
        let enabled = enabled.map_or_else(
            || settings.get("platforms.webhook.enabled") == Some(&Value::Bool(true)),
            |word| ["1", "true", "yes", "on"].contains(&word.as_str()),
        );
        if enabled { Self::configured(settings, insecure).map(Some) } else { Ok(None) }
    }

    /// Reads them, enabled or not.
    pub fn configured(settings: &Settings, insecure: bool) -> Result<Self, OptionsError> {
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
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let mut options = Self {
            address: SocketAddr::new(ip, port),
            routes: BTreeMap::new(),
            body_max: number("max_body_bytes").map_or(BODY_MAX, count),
            rate: number("rate_limit").map_or(RATE, |it| u32::try_from(it).unwrap_or(u32::MAX)),
            shared,
            insecure: insecure && ip.is_loopback(),
        };
        let held = |name: &str| settings.variable(name).map(|it| it.value.clone());
        if let Some(Value::Object(listed)) = extra("routes") {
            for (name, entry) in listed {
                let read = options.route(name, entry, &held)?;
                options.routes.insert(name.clone(), read);
            }
        }
        Ok(options)
    }

    /// A route that was subscribed at the machine; one of the settings has its name first.
    pub fn subscribed(&self, name: &str, entry: &Value) -> Result<WebhookRoute, OptionsError> {
        self.route(name, entry, &|_| None)
    }

    fn route(
        &self,
        name: &str,
        entry: &Value,
        held: &dyn Fn(&str) -> Option<Secret>,
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
        let (secrets, unsigned) = self.secrets_of(&key, fields, held)?;
        let toolsets = toolsets(&key, fields)?;
        let session = match text("session") {
            None | Some("delivery") => SessionBy::Delivery,
            Some("route") => SessionBy::Route,
            Some(template) => SessionBy::Template(template.to_owned()),
        };
        let deliver = deliver(&key, fields)?;
        let direct = flag("deliver_only", false);
        if direct && deliver == Deliver::Log {
            return Err(wrong(&key, "`deliver_only` needs a `deliver` that leads to somebody"));
        }
        let seconds = fields.get("deadline").and_then(Value::as_u64);
        Ok(WebhookRoute {
            name: name.to_owned(),
            secrets,
            events: names(fields.get("events")),
            filters: fields.get("filters").and_then(Value::as_object).cloned().unwrap_or_default(),
            prompt: text("prompt").unwrap_or("{__raw__}").to_owned(),
            session,
            toolsets,
            deadline: seconds.map_or(DEADLINE, Duration::from_secs),
            enabled: flag("enabled", true),
            takes: match (unsigned, flag("allow_v1", false)) {
                (true, _) => Takes::All,
                (false, true) => Takes::SignedOnce,
                (false, false) => Takes::Signed,
            },
            deliver,
            direct,
            script: text("script").map(str::to_owned),
            skills: names(fields.get("skills")),
        })
    }

    /// What deliveries of a route are signed with, or that they are not.
    fn secrets_of(
        &self,
        key: &str,
        fields: &Map<String, Value>,
        held: &dyn Fn(&str) -> Option<Secret>,
    ) -> Result<(Vec<Secret>, bool), OptionsError> {
        let mut own = secrets(fields.get("secret"));
        if let Some(variable) = fields.get("secret_env").and_then(Value::as_str) {
            own.push(held(variable).ok_or_else(|| wrong(key, format!("{variable} is not set")))?);
        }
        if own.iter().any(|secret| secret.expose() == NO_SECRET) {
            if !self.insecure {
                let what = "a route without a secret is taken on a loopback address alone, and only \
                            with `--allow-insecure-webhooks`";
                return Err(wrong(key, what));
            }
            return Ok((Vec::new(), true));
        }
        let secrets = if own.is_empty() { self.shared.clone() } else { own };
        if secrets.is_empty() {
            return Err(wrong(key, "there is no secret: set `secret_env`, or WEBHOOK_SECRET"));
        }
        Ok((secrets, false))
    }
}

/// Toolsets of a route; some of them only for senders that are trusted.
fn toolsets(key: &str, fields: &Map<String, Value>) -> Result<Option<Vec<String>>, OptionsError> {
    let toolsets = fields.get("toolsets").map(|value| names(Some(value)));
    let trusted = fields.get("trusted").and_then(Value::as_bool).unwrap_or(false);
    if let Some(toolsets) = &toolsets {
        let has = |list: &[&str]| toolsets.iter().any(|it| list.contains(&it.as_str()));
        let preset = toolsets.iter().any(|it| it.starts_with("hermes-") && it != "hermes-webhook");
        if (preset || (has(WRITES) && has(CARRIES))) && !trusted {
            let what = "these toolsets can change files and carry them away; if you trust the sender, \
                        say `trusted: true`";
            return Err(wrong(key, what));
        }
    }
    Ok(toolsets)
}

/// Where answers go.
fn deliver(key: &str, fields: &Map<String, Value>) -> Result<Deliver, OptionsError> {
    let target = fields.get("deliver").and_then(Value::as_str).unwrap_or("log").trim();
    let extra = |names: &[&str]| {
        let more = fields.get("deliver_extra")?;
        names.iter().find_map(|name| match more.get(*name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    };
    match target {
        "" | "log" => Ok(Deliver::Log),
        "origin" | "local" | "all" => {
            Err(wrong(key, format!("`{target}` leads nowhere: a webhook comes from no chat")))
        }
        "github_comment" => match (extra(&["repo"]), extra(&["pr_number", "number"])) {
            (Some(repo), Some(number)) => Ok(Deliver::Comment { repo, number }),
            _ => {
                Err(wrong(key, "`github_comment` needs `repo` and `pr_number` in `deliver_extra`"))
            }
        },
        target => Ok(match extra(&["chat_id", "channel", "to"]) {
            Some(chat) if !target.contains(':') => Deliver::Chat {
                platform: target.to_owned(),
                chat,
                thread: extra(&["thread_id", "message_thread_id"]),
            },
            _ => Deliver::To(target.to_owned()),
        }),
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
