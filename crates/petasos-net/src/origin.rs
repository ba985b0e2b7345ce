//! Which secret may go where: addresses taken apart by one parser, and scopes over origins.
//!
//! Everything here is pure. The parser is the one the HTTP client uses, so that no second reading
//! of the same text can disagree about the host.

use std::fmt;
use std::net::IpAddr;

use petasos_contract::Secret;
use reqwest::header::{HeaderName, HeaderValue};
use url::{Host, Url};

/// Why a text is not taken as an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    /// Nothing there.
    #[error("the URL is empty")]
    Empty,
    /// Two parsers could disagree about it.
    #[error("the URL holds {what}; remove it, because another reader may see another host")]
    Ambiguous {
        /// What it holds.
        what: &'static str,
    },
    /// Not a URL.
    #[error("the URL cannot be read: {problem}; write it as `https://host/path`")]
    Unreadable {
        /// The parser's word.
        problem: String,
    },
}

/// Reads an address, refusing what two readers could understand differently: user names, backslashes,
/// spaces and control characters. One trailing dot of the host is dropped.
pub fn checked_url(text: &str) -> Result<Url, UrlRefused> {
    let text = text.trim();
    if text.is_empty() {
        return Err(UrlRefused::Empty);
    }
    if text.contains('\\') {
        return Err(UrlRefused::Ambiguous { what: "a backslash" });
    }
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(UrlRefused::Ambiguous { what: "a space or control character" });
    }
    if authority(text).contains('@') {
        return Err(UrlRefused::Ambiguous { what: "a user name" });
    }
    let unreadable = |problem: &str| UrlRefused::Unreadable { problem: problem.to_owned() };
    let mut url = Url::parse(text).map_err(|error| unreadable(&error.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRefused::Ambiguous { what: "a user name" });
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(unreadable("it names no host"));
    }
    let undotted = match url.host() {
        Some(Host::Domain(name)) => name.strip_suffix('.').map(str::to_owned),
        _ => None,
    };
    if let Some(host) = undotted {
        url.set_host(Some(&host)).map_err(|error| unreadable(&error.to_string()))?;
    }
    Ok(url)
}

/// The part between `//` and the next delimiter, as written.
fn authority(text: &str) -> &str {
    let after = text.split_once(':').map_or(text, |(_, rest)| rest).trim_start_matches('/');
    after.split(['/', '?', '#']).next().unwrap_or(after)
}

/// Scheme, host and port: what a browser calls an origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    scheme: String,
    host: Host<String>,
    port: u16,
}

impl Origin {
    /// The origin of an http or https address; others have none.
    pub fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let host = match url.host()? {
            Host::Domain(name) => Host::Domain(name.strip_suffix('.').unwrap_or(name).to_owned()),
            Host::Ipv4(address) => Host::Ipv4(address),
            Host::Ipv6(address) => Host::Ipv6(address),
        };
        let port = url.port_or_known_default()?;
        Some(Self { scheme: url.scheme().to_owned(), host, port })
    }

    /// Whether it is on this machine.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => IpAddr::V6(*address).to_canonical().is_loopback(),
        }
    }

    /// Whether it is encrypted on the way.
    pub fn is_encrypted(&self) -> bool {
        self.scheme == "https"
    }

    /// The host as text.
    pub fn host(&self) -> String {
        self.host.to_string()
    }

    /// The host name, when it is a name and not an address.
    pub fn domain(&self) -> Option<&str> {
        match &self.host {
            Host::Domain(name) => Some(name),
            Host::Ipv4(_) | Host::Ipv6(_) => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        let usual = if self.is_encrypted() { 443 } else { 80 };
        if self.port == usual { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

/// One rule of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// This host name over https.
    Host(String),
    /// This host name and every name below it, over https.
    Below(String),
    /// This origin and no other, also without encryption: a grant that the user wrote down.
    Exact(Origin),
    /// Anything on this machine.
    Loopback,
}

impl Allowed {
    /// Reads the notation of the provider table: `host`, `*.suffix`.
    pub fn from_pattern(pattern: &str) -> Self {
        match pattern.strip_prefix("*.") {
            Some(suffix) => Self::Below(suffix.to_ascii_lowercase()),
            None => Self::Host(pattern.to_ascii_lowercase()),
        }
    }

    /// Whether the rule covers an origin.
    pub fn permits(&self, origin: &Origin) -> bool {
        match self {
            Self::Host(host) => origin.is_encrypted() && origin.domain() == Some(host),
            Self::Below(suffix) => {
                origin.is_encrypted() && origin.domain().is_some_and(|name| is_below(name, suffix))
            }
            Self::Exact(exact) => exact == origin,
            Self::Loopback => origin.is_loopback(),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(host) => f.write_str(host),
            Self::Below(suffix) => write!(f, "*.{suffix}"),
            Self::Exact(origin) => write!(f, "{origin}"),
            Self::Loopback => f.write_str("this machine"),
        }
    }
}

/// Whether `name` is `suffix` or a name below it.
pub fn is_below(name: &str, suffix: &str) -> bool {
    name == suffix || name.strip_suffix(suffix).is_some_and(|head| head.ends_with('.'))
}

/// The origins that a secret may go to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope(Vec<Allowed>);

impl Scope {
    /// A scope of these rules; an empty one permits nothing.
    pub fn new(rules: impl IntoIterator<Item = Allowed>) -> Self {
        Self(rules.into_iter().collect())
    }

    /// The scope of one origin.
    pub fn exactly(origin: Origin) -> Self {
        Self(vec![Allowed::Exact(origin)])
    }

    /// Whether an address is inside.
    pub fn permits(&self, url: &Url) -> bool {
        url.username().is_empty()
            && url.password().is_none()
            && Origin::of(url).is_some_and(|origin| self.0.iter().any(|rule| rule.permits(&origin)))
    }

    /// The same scope with one more rule.
    pub fn and(mut self, rule: Allowed) -> Self {
        self.0.push(rule);
        self
    }

    /// Its rules.
    pub fn rules(&self) -> &[Allowed] {
        &self.0
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nowhere");
        }
        for (at, rule) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{rule}")?;
        }
        Ok(())
    }
}

/// How a secret travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheme {
    /// `Authorization: Bearer …`.
    Bearer,
    /// `Authorization: token …`.
    Token,
    /// A header of its own, for example `x-api-key`.
    Header(&'static str),
}

/// A secret together with the only places it may go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Whose it is: a provider id or the name of a custom entry.
    pub owner: String,
    /// The secret.
    pub secret: Secret,
    /// Where it may go.
    pub scope: Scope,
    /// How it travels.
    pub scheme: Scheme,
}

/// A secret that was not attached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The address is outside its scope.
    #[error("the key of `{owner}` may go to {scope} and not to `{target}`")]
    OutOfScope {
        /// Whose key.
        owner: String,
        /// Where it may go.
        scope: String,
        /// Where it was asked to go.
        target: String,
    },
    /// It cannot be written into a header.
    #[error("the key of `{owner}` holds characters that no header can carry; paste it again")]
    Unsendable {
        /// Whose key.
        owner: String,
    },
}

impl Credential {
    /// The header that carries the secret to `url`, or a refusal. The one place where a secret
    /// becomes part of a request.
    pub fn attach(&self, url: &Url) -> Result<(HeaderName, HeaderValue), Refused> {
        if !self.scope.permits(url) {
            let target = Origin::of(url).map_or_else(|| url.scheme().to_owned(), |o| o.to_string());
            let (owner, scope) = (self.owner.clone(), self.scope.to_string());
            return Err(Refused::OutOfScope { owner, scope, target });
        }
        let secret = self.secret.expose();
        let (name, text) = match &self.scheme {
            Scheme::Bearer => {
                (HeaderName::from_static("authorization"), format!("Bearer {secret}"))
            }
            Scheme::Token => (HeaderName::from_static("authorization"), format!("token {secret}")),
            Scheme::Header(name) => (HeaderName::from_static(name), secret.to_owned()),
        };
        let mut value = HeaderValue::try_from(text)
            .map_err(|_| Refused::Unsendable { owner: self.owner.clone() })?;
        value.set_sensitive(true);
        Ok((name, value))
    }
}
