//! The entries of `mcp_servers`, read once into types. What does not fit is named, not dropped.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use petasos_contract::Settings;
use petasos_net::{Identity, Tls, Url, checked_url};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::shown;

/// One server, as the configuration describes it.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own in the file")]
pub struct ServerSpec {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub launch: Launch,
    /// Whether it is started.
    pub enabled: bool,
    /// Whether a run stops without it.
    pub required: bool,
    /// Whether its tools may change things while nobody is there to ask.
    pub trusted: bool,
    /// Whether a program of it is confined as commands are; its own `sandbox: off` says no.
    pub confined: bool,
    /// How long a call may take.
    pub call: Duration,
    /// How long the start may take, its handshake included.
    pub connect: Duration,
    /// How often it is asked for a sign of life.
    pub keepalive: Duration,
    /// After how long without a call it is let go until the next one.
    pub idle: Option<Duration>,
    /// After how long it is started anew.
    pub lifetime: Option<Duration>,
    /// Whether its calls may overlap.
    pub parallel: bool,
    /// Which of its tools are taken.
    pub tools: ToolFilter,
    /// Whether and how it may ask the model.
    pub sampling: Sampling,
    /// Whether and how long it may ask the user.
    pub elicitation: Option<Duration>,
    /// Directories that it is shown, where it asks.
    pub roots: Vec<String>,
    /// What a person should know about the entry.
    pub notes: Vec<String>,
    /// The command line or the address, for people.
    shown: String,
}

/// How a server is reached.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there is one for each server")]
pub enum Launch {
    /// A program on this machine.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its variables, beside the safe base.
        env: BTreeMap<String, String>,
        /// Where it starts.
        cwd: Option<PathBuf>,
    },
    /// An address.
    Http {
        /// The address.
        url: Url,
        /// Headers of the user's.
        headers: BTreeMap<String, String>,
        /// The older transport.
        sse: bool,
        /// How certificates are checked.
        tls: Tls,
        /// The certificate that we show.
        identity: Option<Identity>,
        /// Whether the kind of answer is looked at first.
        preflight: bool,
        /// How it lets us in.
        oauth: Option<OauthSpec>,
    },
}

/// Which tools of a server are taken; by the names that the server uses.
#[derive(Debug, Clone, Default)]
pub struct ToolFilter {
    /// Only these.
    pub include: Option<Vec<String>>,
    /// Not these.
    pub exclude: Vec<String>,
    /// Without tools for resources.
    pub no_resources: bool,
    /// Without tools for prompts.
    pub no_prompts: bool,
}

/// What a server may ask the model.
#[derive(Debug, Clone)]
pub struct Sampling {
    /// Whether at all.
    pub enabled: bool,
    /// How often in a minute.
    pub max_rpm: usize,
    /// How long an answer may take.
    pub timeout: Duration,
    /// How long an answer may be.
    pub max_tokens: u32,
    /// After how many rounds of tools the model is asked without them; zero means from the start.
    pub max_tool_rounds: usize,
    /// Which models; empty means all. One that the server names is used when it is among them,
    /// else the first.
    pub allowed_models: Vec<String>,
    /// The model to use.
    pub model: Option<String>,
}

/// How we sign in.
#[derive(Debug, Clone, Default)]
pub struct OauthSpec {
    /// A client that is registered already.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// What is asked for.
    pub scope: Option<String>,
    /// The port of the answer; zero means any.
    pub redirect_port: u16,
    /// The address of the answer.
    pub redirect_uri: Option<String>,
    /// The host of the answer.
    pub redirect_host: Option<String>,
    /// The name that is shown at sign-in.
    pub client_name: Option<String>,
}

/// An entry that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("MCP server `{name}`: {problem}")]
pub struct SpecError {
    /// The server.
    pub name: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl ServerSpec {
    /// Every entry of a snapshot, in the order of their names.
    pub fn all(settings: &Settings) -> Vec<Result<Self, SpecError>> {
        if settings.is_on("SAFE_MODE") {
            return Vec::new();
        }
        let Some(Value::Object(servers)) = settings.get("mcp_servers") else { return Vec::new() };
        let mut named: Vec<(&String, &Value)> = servers.iter().collect();
        named.sort_by_key(|(name, _)| *name);
        named.into_iter().map(|(name, entry)| Self::read(name, entry, settings)).collect()
    }

    /// One entry.
    pub fn read(name: &str, entry: &Value, settings: &Settings) -> Result<Self, SpecError> {
        let fault = |problem: String| SpecError { name: name.to_owned(), problem };
        let object = entry.as_object().ok_or_else(|| fault("the entry is no map".to_owned()))?;
        let mut notes = Vec::new();
        let launch = launch(object, settings, &mut notes).map_err(fault)?;
        let seconds = |key: &str, usual: u64| {
            limit(object, key, &mut Vec::new()).unwrap_or(Duration::from_secs(usual))
        };
        let lifecycle = object.get("lifecycle").and_then(Value::as_object);
        let mut recycled = |key: &str| {
            let own = limit(object, key, &mut notes);
            own.or_else(|| limit(lifecycle?, key, &mut Vec::new()))
        };
        let (idle, lifetime) = (recycled("idle_timeout_seconds"), recycled("max_lifetime_seconds"));
        let keepalive = seconds("keepalive_interval", 180).max(Duration::from_secs(5));
        Ok(Self {
            name: name.to_owned(),
            shown: shown::shown(&launch, settings),
            launch,
            enabled: flag(object.get("enabled"), true),
            required: flag(object.get("required"), false),
            trusted: flag(object.get("trusted"), false),
            confined: flag(object.get("sandbox"), true),
            call: seconds("timeout", 300),
            connect: seconds("connect_timeout", 60),
            keepalive,
            idle,
            lifetime,
            parallel: flag(object.get("supports_parallel_tool_calls"), false),
            tools: filter(object.get("tools")),
            sampling: sampling(object.get("sampling")),
            elicitation: elicitation(object.get("elicitation")),
            roots: names(object.get("roots")).unwrap_or_default(),
            notes,
        })
    }

    /// Equal for entries that start the same server.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(format!("{:?}", self.launch));
        hash.finalize().into()
    }

    /// Whether it is a program on this machine.
    pub fn is_local(&self) -> bool {
        matches!(self.launch, Launch::Stdio { .. })
    }

    /// What it is, for people: the command line or the address, without secrets.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

fn launch(
    object: &Map<String, Value>,
    settings: &Settings,
    notes: &mut Vec<String>,
) -> Result<Launch, String> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let url = text("url").filter(|url| !url.is_empty());
    let Some(url) = url else {
        let command = text("command").filter(|command| !command.is_empty());
        let command = command.ok_or("it has neither `command` nor `url`: set one of them")?;
        let cwd = text("cwd").map(|cwd| home_path(&cwd, settings));
        let args = names(object.get("args")).unwrap_or_default();
        return Ok(Launch::Stdio { command, args, env: texts(object.get("env")), cwd });
    };
    if object.contains_key("command") {
        notes.push("both `url` and `command` are set, `url` is used".to_owned());
    }
    let url = checked_url(&url).map_err(|error| error.to_string())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(format!("`{url}` is no http or https address"));
    }
    let oauth = (text("auth").as_deref() == Some("oauth")).then(|| oauth(object.get("oauth")));
    Ok(Launch::Http {
        url,
        headers: texts(object.get("headers")),
        sse: text("transport").as_deref() == Some("sse"),
        tls: tls(object.get("ssl_verify"), settings),
        identity: identity(object, settings)?,
        preflight: !flag(object.get("skip_preflight"), false) && oauth.is_none(),
        oauth,
    })
}

fn tls(verify: Option<&Value>, settings: &Settings) -> Tls {
    match verify {
        Some(Value::String(path)) if !matches!(path.as_str(), "true" | "false") => {
            Tls { ca_cert: Some(home_path(path, settings)), unverified: false }
        }
        other => Tls { ca_cert: None, unverified: !flag(other, true) },
    }
}

/// The certificate of our own: one file, a file and `client_key`, or a list of the two.
fn identity(object: &Map<String, Value>, settings: &Settings) -> Result<Option<Identity>, String> {
    let of = |key: &str| object.get(key).filter(|value| !value.is_null());
    let key = of("client_key")
        .map(|key| key.as_str().ok_or_else(|| "`client_key` is not the path of a file".to_owned()));
    let key = key.transpose()?;
    let paths: Vec<&str> = match of("client_cert") {
        None if key.is_some() => {
            return Err("`client_key` is set and `client_cert` is not: set both".to_owned());
        }
        None => return Ok(None),
        Some(Value::String(path)) => std::iter::once(path.as_str()).chain(key).collect(),
        Some(Value::Array(_)) if key.is_some() => {
            return Err("`client_cert` is a list and `client_key` is set: use one".to_owned());
        }
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        Some(_) => Vec::new(),
    };
    let (cert, key) = match paths.as_slice() {
        [cert] => (cert, None),
        [cert, key] => (cert, Some(home_path(key, settings))),
        [_, _, _] => {
            let text = "a key with a password cannot be used: write it without one \
                        (`openssl pkey -in KEY -out PLAIN`) and name `[cert, key]`";
            return Err(text.to_owned());
        }
        _ => return Err("`client_cert` is a file, or a list of a certificate and a key".to_owned()),
    };
    let identity = Identity { cert: home_path(cert, settings), key };
    for file in std::iter::once(&identity.cert).chain(&identity.key) {
        if !file.is_file() {
            return Err(format!("`{}` is not there: check `client_cert`", file.display()));
        }
    }
    Ok(Some(identity))
}

fn oauth(value: Option<&Value>) -> OauthSpec {
    let text =
        |key: &str| Some(value?.get(key)?.as_str()?.to_owned()).filter(|text| !text.is_empty());
    let port = value.and_then(|value| value.get("redirect_port")?.as_u64());
    OauthSpec {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        scope: text("scope"),
        redirect_port: port.and_then(|port| u16::try_from(port).ok()).unwrap_or(0),
        redirect_uri: text("redirect_uri"),
        redirect_host: text("redirect_host"),
        client_name: text("client_name"),
    }
}

/// An explicit empty `include` takes no tool of the server's own.
fn filter(value: Option<&Value>) -> ToolFilter {
    let of = |key: &str| value.and_then(|value| value.get(key));
    ToolFilter {
        include: names(of("include")),
        exclude: names(of("exclude")).unwrap_or_default(),
        no_resources: !flag(of("resources"), true),
        no_prompts: !flag(of("prompts"), true),
    }
}

fn sampling(value: Option<&Value>) -> Sampling {
    let of = |key: &str| value.and_then(|value| value.get(key));
    let number = |key: &str, usual: u64| of(key).and_then(Value::as_u64).unwrap_or(usual);
    let switched_off = value.is_some_and(|value| !value.is_object() && !flag(Some(value), true));
    Sampling {
        enabled: !switched_off && flag(of("enabled"), true),
        max_rpm: usize::try_from(number("max_rpm", 10)).unwrap_or(10),
        timeout: Duration::from_secs(number("timeout", 30)),
        max_tokens: u32::try_from(number("max_tokens_cap", 4096)).unwrap_or(4096),
        max_tool_rounds: usize::try_from(number("max_tool_rounds", 5)).unwrap_or(5),
        allowed_models: names(of("allowed_models")).unwrap_or_default(),
        model: of("model").and_then(Value::as_str).map(str::to_owned),
    }
}

fn elicitation(value: Option<&Value>) -> Option<Duration> {
    let of = |key: &str| value.and_then(|value| value.get(key));
    let switched_off = value.is_some_and(|value| !value.is_object() && !flag(Some(value), true));
    let seconds = of("timeout").and_then(Value::as_u64).unwrap_or(300);
    (!switched_off && flag(of("enabled"), true)).then(|| Duration::from_secs(seconds))
}

/// Bool-ish, as people write it.
fn flag(value: Option<&Value>, usual: bool) -> bool {
    match value {
        Some(Value::Bool(on)) => *on,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(word)) => {
            !matches!(word.trim().to_ascii_lowercase().as_str(), "false" | "no" | "off" | "0" | "")
        }
        _ => usual,
    }
}

/// Seconds of a limit; zero means none, and what is no number is noted.
fn limit(object: &Map<String, Value>, key: &str, notes: &mut Vec<String>) -> Option<Duration> {
    let value = object.get(key)?;
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    match seconds {
        Some(seconds) if seconds > 0.0 => Duration::try_from_secs_f64(seconds).ok(),
        Some(0.0) => None,
        _ => {
            notes.push(format!("`{key}` is no number of seconds and is ignored"));
            None
        }
    }
}

fn names(value: Option<&Value>) -> Option<Vec<String>> {
    match value? {
        Value::String(one) => Some(vec![one.clone()]),
        Value::Array(many) => Some(many.iter().filter_map(word).collect()),
        _ => None,
    }
}

/// Scalars as text, as a shell would see them.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn texts(value: Option<&Value>) -> BTreeMap<String, String> {
    let pairs = value.and_then(Value::as_object).into_iter().flatten();
    pairs.filter_map(|(name, value)| Some((name.clone(), word(value)?))).collect()
}

fn home_path(text: &str, settings: &Settings) -> PathBuf {
    match text.strip_prefix("~/") {
        Some(rest) => settings.user_home().join(rest),
        None if text == "~" => settings.user_home().to_path_buf(),
        None => PathBuf::from(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use petasos_contract::Secret;
    use petasos_contract::settings::{Parts, Source, Variable};

    #[expect(clippy::needless_pass_by_value, reason = "written in place")]
    fn read(entry: Value) -> Result<ServerSpec, SpecError> {
        ServerSpec::read("s", &entry, &Settings::from_values(Map::new()))
    }

    #[test]
    fn safe_mode_is_a_switch_with_two_positions() {
        use petasos_contract::Secret;
        use petasos_contract::settings::{Parts, Source, Variable};
        for (value, servers) in [("1", 0), ("true", 0), ("0", 1), ("false", 1), ("", 1)] {
            let name = "PETASOS_SAFE_MODE".to_owned();
            let source = Source::Environment { variable: name.clone() };
            let variable = Variable { value: Secret::new(value), source };
            let settings = Settings::new(Parts {
                values: json!({ "mcp_servers": { "s": { "command": "x" } } })
                    .as_object()
                    .cloned()
                    .unwrap(),
                variables: [(name, variable)].into(),
                ..Parts::default()
            });
            assert_eq!(ServerSpec::all(&settings).len(), servers, "{value:?}");
        }
    }

    #[test]
    fn entries_have_the_documented_defaults_and_bounds() {
        let spec = read(json!({ "command": "x", "args": ["-p", 8080] })).unwrap();
        assert_eq!((spec.call.as_secs(), spec.connect.as_secs()), (300, 60));
        assert_eq!((spec.keepalive.as_secs(), spec.enabled, spec.required), (180, true, false));
        assert_eq!(spec.shown(), "x -p 8080");
        assert!(spec.sampling.enabled && spec.elicitation == Some(Duration::from_mins(5)));
        let spec = read(json!({
            "url": "http://localhost/mcp", "command": "x", "keepalive_interval": 1, "enabled": "no",
            "lifecycle": { "idle_timeout_seconds": 5 }, "max_lifetime_seconds": "soon",
            "tools": { "include": [], "prompts": "off" }, "sampling": false,
        }))
        .unwrap();
        assert_eq!((spec.keepalive.as_secs(), spec.enabled), (5, false));
        assert_eq!((spec.idle, spec.lifetime), (Some(Duration::from_secs(5)), None));
        assert_eq!((spec.tools.include.clone(), spec.tools.no_prompts), (Some(vec![]), true));
        assert!(!spec.sampling.enabled && spec.notes.len() == 2, "{:?}", spec.notes);
    }

    #[test]
    fn safe_mode_starts_no_server_and_its_absence_does() {
        for (mode, count) in [("1", 0), ("true", 0), ("0", 1), ("false", 1), ("", 1)] {
            let source = Source::Environment { variable: "PETASOS_SAFE_MODE".to_owned() };
            let variable = Variable { value: Secret::new(mode), source };
            let settings = Settings::new(Parts {
                values: Map::from_iter([("mcp_servers".to_owned(), json!({ "s": {} }))]),
                variables: [("PETASOS_SAFE_MODE".to_owned(), variable)].into(),
                ..Parts::default()
            });
            assert_eq!(ServerSpec::all(&settings).len(), count, "{mode}");
        }
    }

    #[test]
    fn an_entry_that_cannot_work_says_what_to_do() {
        let entries = [
            (json!({}), "neither `command` nor `url`"),
            (json!("x"), "no map"),
            (json!({ "url": "ftp://host/" }), "no http or https address"),
            (json!({ "url": "http://user@host/" }), "holds"),
            (json!({ "url": "https://h/", "client_cert": "/no/c.pem" }), "is not there"),
            (json!({ "url": "https://h/", "client_key": "/no/k.pem" }), "set both"),
            (json!({ "url": "https://h/", "client_cert": ["/a", "/b", "pw"] }), "password"),
            (json!({ "url": "https://h/", "client_cert": ["/a"], "client_key": "/b" }), "use one"),
        ];
        for (entry, expected) in entries {
            let error = read(entry).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
