//! The resolver's answer: everything a transport needs to know about one endpoint.
//!
//! A value, not a client. It holds secrets only inside [`Credential`] and [`AwsKeys`], so that
//! printing it shows none.

use std::fmt;
use std::path::PathBuf;

use petasos_contract::Secret;
use petasos_net::{Credential, Origin, Url, UrlRefused, checked_url};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::credential::jwt;
use crate::mode::{ApiMode, Wire};
use crate::transport::target::join;

/// An endpoint without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    url: Url,
    text: String,
}

impl BaseUrl {
    /// Reads an endpoint; see [`checked_url`] for what is refused.
    pub fn parse(text: &str) -> Result<Self, UrlRefused> {
        Ok(Self::from(checked_url(text)?))
    }

    /// The address.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The address as text, without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its origin; none for virtual endpoints such as `acp://copilot`.
    pub fn origin(&self) -> Option<Origin> {
        Origin::of(&self.url)
    }

    /// The host as text, empty when there is none.
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The address of a path below it; `path` starts with a slash and may bring a query. A query of
    /// the endpoint itself stays.
    pub fn at(&self, path: &str) -> Result<Url, UrlRefused> {
        checked_url(&join(&self.text, path))
    }

    /// The same endpoint with more parameters behind every path.
    pub(crate) fn with_query(&self, parameters: &[(String, String)]) -> Self {
        if parameters.is_empty() {
            return self.clone();
        }
        let mut url = self.url.clone();
        url.query_pairs_mut().extend_pairs(parameters);
        Self::from(url)
    }

    /// The same endpoint with another path, for providers whose dialects live at different ones.
    pub(crate) fn with_text(&self, text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|_| self.clone())
    }
}

impl From<Url> for BaseUrl {
    fn from(url: Url) -> Self {
        let text = url.as_str().trim_end_matches('/').to_owned();
        Self { url, text }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Where the secret came from. Never holds secret material.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Given with the request.
    Explicit,
    /// The `model` section of the configuration.
    Config,
    /// A variable, from a dotenv file or the process environment.
    Variable(String),
    /// A named custom entry.
    CustomEntry(String),
    /// A custom entry found by its URL.
    CustomEntryByUrl(String),
    /// What a command printed, by its name.
    Command(String),
    /// An entry of a credential pool, by its own source.
    Pool(String),
    /// An explicit Azure endpoint serving Claude.
    AzureExplicit,
    /// A Microsoft Entra token.
    Entra,
    /// A Google Cloud token.
    VertexOauth,
    /// Our own login, kept in the auth store.
    AuthStore,
    /// Claude Code's own file.
    ClaudeCode,
    /// The Codex program's own file.
    CodexCli,
    /// The Qwen program's own file.
    QwenCli,
    /// A local process that authenticates itself.
    Process,
    /// AWS credentials.
    Aws(String),
    /// The virtual mixture of agents.
    Virtual,
    /// The endpoint takes no key, or none may be sent to it.
    NoKeyRequired,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit => f.write_str("explicit"),
            Self::Config => f.write_str("config"),
            Self::Variable(name) => write!(f, "env:{name}"),
            Self::CustomEntry(name) => write!(f, "custom_provider:{name}"),
            Self::CustomEntryByUrl(name) => write!(f, "pool:custom:{name}"),
            Self::Command(name) => write!(f, "command:{name}"),
            Self::Pool(source) => write!(f, "credential_pool:{source}"),
            Self::AzureExplicit => f.write_str("azure-explicit"),
            Self::Entra => f.write_str("entra_id"),
            Self::VertexOauth => f.write_str("vertex-oauth"),
            Self::AuthStore => f.write_str("hermes-auth-store"),
            Self::ClaudeCode => f.write_str("claude_code"),
            Self::CodexCli => f.write_str("codex-cli"),
            Self::QwenCli => f.write_str("qwen-cli"),
            Self::Process => f.write_str("process"),
            Self::Aws(how) => write!(f, "aws:{how}"),
            Self::Virtual => f.write_str("moa-virtual-provider"),
            Self::NoKeyRequired => f.write_str("no-key-required"),
        }
    }
}

impl Serialize for Source {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// When the secret stops working, and whether it can be renewed without a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Expiry {
    /// Milliseconds since 1970; `None` when unknown, which means "use as is".
    pub at_ms: Option<u64>,
    /// How long before that it is renewed.
    pub skew_ms: u64,
    /// Whether a refresh token is there.
    pub refreshable: bool,
}

impl Expiry {
    /// Whether it should be renewed before use.
    pub fn is_due(&self, now_ms: u64) -> bool {
        self.at_ms.is_some_and(|at| now_ms + self.skew_ms >= at)
    }
}

/// Whether the user configured an endpoint or nothing was configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndpointKind {
    /// A provider of the table at its own address.
    Registry,
    /// An endpoint that the user named.
    Custom,
    /// Nothing was configured; the aggregator's default address.
    OpenRouterDefault,
    /// A model server found on this machine.
    Local,
}

/// A program to start instead of an address to call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Launch {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Keys that sign requests and never travel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsKeys {
    /// The public half.
    pub access_key_id: String,
    /// The signing key.
    pub secret_access_key: Secret,
    /// The token of temporary credentials.
    pub session_token: Option<Secret>,
}

/// What Bedrock needs beside the address.
#[derive(Debug, Clone, PartialEq)]
pub struct Aws {
    /// The region.
    pub region: String,
    /// Signing keys; none when a bearer token is used or the keys come from somewhere slow.
    pub keys: Option<AwsKeys>,
    /// The guardrail to forward.
    pub guardrail: Option<Value>,
}

/// How the words of a dialect travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Channel {
    /// A request each, answered by a stream.
    #[default]
    Http,
    /// A WebSocket that stays open, where the dialect has a form for it.
    WebSocket,
}

/// What a custom entry or the configuration changes on every request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// Merged into every request body.
    pub extra_body: Map<String, Value>,
    /// A ceiling for the answer.
    pub max_output_tokens: Option<u64>,
    /// The context window, as the user stated it.
    pub context_length: Option<u64>,
    /// Deadline of a whole request.
    pub request_timeout_s: Option<f64>,
    /// Deadline between meaningful events.
    pub stale_timeout_s: Option<f64>,
    /// Seconds between two requests to this endpoint.
    pub rate_limit_delay_s: Option<f64>,
    /// Whether the endpoint is not asked for its models.
    pub unlisted: bool,
    /// How the endpoint is spoken to.
    pub channel: Channel,
    /// Extra certificate authority for this endpoint.
    pub ca_cert: Option<PathBuf>,
    /// Whether certificates are not checked for this endpoint.
    pub tls_unverified: bool,
}

/// The entry of a credential pool that is in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PoolRef {
    /// The pool: a provider id or `custom:<name>`.
    pub pool: String,
    /// The entry.
    pub entry: String,
}

/// Something a person should be told once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Stable, for telling a person only once.
    pub key: String,
    /// One line.
    pub text: String,
}

/// A resolved provider.
#[derive(Debug, Clone, PartialEq)]
pub struct ProviderRuntime {
    /// Canonical id; every custom endpoint is `custom`.
    pub provider: String,
    /// The name asked for, before aliases.
    pub requested: String,
    /// The dialect.
    pub api_mode: ApiMode,
    /// The transport that speaks it.
    pub wire: Wire,
    /// Where.
    pub base_url: BaseUrl,
    /// The secret and the origins it may go to; `None` when nothing is sent.
    pub credential: Option<Credential>,
    /// Where the secret came from.
    pub source: Source,
    /// When the secret stops working.
    pub expiry: Option<Expiry>,
    /// The pool entry in use.
    pub pool: Option<PoolRef>,
    /// Sent with every request; never holds the credential.
    pub headers: Vec<(String, String)>,
    /// Changes to every request.
    pub overrides: Overrides,
    /// The model: the one asked for, else the saved or default one.
    pub model: Option<String>,
    /// Whether the user configured this endpoint.
    pub endpoint_kind: EndpointKind,
    /// A program to start, for process transports.
    pub launch: Option<Launch>,
    /// Bedrock's needs.
    pub aws: Option<Aws>,
    /// What a person should be told once.
    pub notices: Vec<Notice>,
}

impl ProviderRuntime {
    /// What people call it: endpoints of their own go by the name they gave them.
    pub fn name(&self) -> &str {
        let named = self.provider == "custom" && !matches!(self.requested.as_str(), "" | "auto");
        if named { &self.requested } else { &self.provider }
    }

    /// Whether its login holds no token yet: nothing may be sent before it is renewed.
    pub fn awaits_renewal(&self) -> bool {
        self.credential.is_none() && self.expiry.is_some_and(|expiry| expiry.refreshable)
    }

    /// The same runtime with another secret of the same owner; where it may go stays what it was.
    pub fn with_secret(&self, secret: Secret, expires_at_ms: Option<u64>) -> Self {
        const ACCOUNT: &str = "ChatGPT-Account-ID";
        let mut next = self.clone();
        if next.provider == "openai-codex" {
            next.headers.retain(|(name, _)| name != ACCOUNT);
            let account = jwt::chatgpt_account(secret.expose());
            next.headers.extend(account.map(|account| (ACCOUNT.to_owned(), account)));
        }
        if let Some(credential) = &mut next.credential {
            credential.secret = secret;
        }
        if let Some(expiry) = &mut next.expiry {
            expiry.at_ms = expires_at_ms;
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_joins_an_endpoint_before_its_query() {
        let at =
            |base: &str, path: &str| BaseUrl::parse(base).unwrap().at(path).unwrap().to_string();
        assert_eq!(at("https://a.test/v1/", "/models"), "https://a.test/v1/models");
        assert_eq!(at("https://a.test", "/x?alt=sse"), "https://a.test/x?alt=sse");
        assert_eq!(
            at("https://a.test/v1?api-version=2", "/x?b=1"),
            "https://a.test/v1/x?api-version=2&b=1"
        );
    }
}
