//! Which sites tools may open: the exceptions and the block list that the user wrote down.
//!
//! Read once from the settings. `address` decides about addresses and asks here for exceptions;
//! the client and the filtering proxy ask here about every host they are led to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use petasos_contract::{BoxFuture, Settings};
use serde_json::Value;
use url::{Host, Url};

use crate::address::{Reach, is_public};
use crate::block::Block;
use crate::origin::is_below;

/// Names under which clouds offer their metadata service; refused before they are looked up.
const METADATA_NAMES: [&str; 4] =
    ["metadata.google.internal", "metadata.goog", "instance-data", "metadata.azure.internal"];

/// A site that the block list names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{host}` is on the block list (`{rule}` in {source_name}); it is not opened")]
pub struct SiteBlocked {
    /// The host.
    pub host: String,
    /// The rule that names it.
    pub rule: String,
    /// Where the rule is written.
    pub source_name: String,
}

/// A part of a private network that tools may reach although nobody else may.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Exception {
    /// A host, perhaps on one port only.
    Host(String, Option<u16>),
    /// A block of addresses.
    Block(Block),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct BlockRule {
    pattern: String,
    source_name: String,
}

/// Turns names into addresses.
pub trait Lookup: fmt::Debug + Send + Sync {
    /// Every address of a name.
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy)]
struct SystemLookup;

impl Lookup for SystemLookup {
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            Ok(tokio::net::lookup_host((host, 0)).await?.map(|found| found.ip()).collect())
        })
    }
}

/// What the settings say about sites that a model or a page chose.
#[derive(Debug, Clone)]
pub struct SiteRules {
    names: Arc<dyn Lookup>,
    allow_private: bool,
    exceptions: Vec<Exception>,
    blocked: Vec<BlockRule>,
}

impl Default for SiteRules {
    fn default() -> Self {
        Self {
            names: Arc::new(SystemLookup),
            allow_private: false,
            exceptions: Vec::new(),
            blocked: Vec::new(),
        }
    }
}

impl SiteRules {
    /// The rules of a snapshot. An entry that cannot be read opens nothing and is told in the log.
    pub fn from_settings(settings: &Settings) -> Self {
        let entries = settings.names("security.private_hosts").unwrap_or_default();
        let allow = settings.get("security.allow_private_urls").and_then(Value::as_bool);
        Self {
            allow_private: allow.unwrap_or(false),
            exceptions: entries.iter().filter_map(|entry| exception(entry)).collect(),
            blocked: blocked(settings),
            ..Self::default()
        }
    }

    /// The same rules over another source of names.
    #[must_use]
    pub fn with_names(self, names: Arc<dyn Lookup>) -> Self {
        Self { names, ..self }
    }

    /// The addresses of a name. `localhost` is this machine whatever a name server says.
    pub(crate) async fn look_up(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let name = bare(host);
        if name == "localhost" || name.ends_with(".localhost") {
            return Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)]);
        }
        self.names.look_up(host).await
    }

    /// The same rules with one more host and port that may be private.
    #[must_use]
    pub fn opening(mut self, host: &str, port: Option<u16>) -> Self {
        self.exceptions.push(Exception::Host(bare(host), port));
        self
    }

    /// Why a host may not be opened by its name alone.
    pub fn check_host(&self, host: &str) -> Result<(), SiteBlocked> {
        let host = bare(host);
        let hit = self.blocked.iter().find(|rule| matches(&rule.pattern, &host));
        match hit {
            None => Ok(()),
            Some(rule) => Err(SiteBlocked {
                host,
                rule: rule.pattern.clone(),
                source_name: rule.source_name.clone(),
            }),
        }
    }

    /// How far a connection to this host and port may go, when a model or a page chose it.
    pub fn reach(&self, host: &str, port: u16) -> Reach {
        let host = bare(host);
        let open = self.allow_private
            || self.exceptions.iter().any(|exception| match exception {
                Exception::Host(name, only) => {
                    *name == host && only.is_none_or(|only| only == port)
                }
                Exception::Block(_) => false,
            });
        if open { Reach::Private } else { Reach::PublicOnly }
    }

    /// The reach of the next hop: exceptions hold for the very place that they name.
    pub(crate) fn hop(&self, asked: Reach, url: &Url) -> Reach {
        match asked {
            Reach::PublicOnly => self.reach(
                url.host_str().unwrap_or_default(),
                url.port_or_known_default().unwrap_or(0),
            ),
            Reach::Anywhere | Reach::Private | Reach::OwnMetadata => asked,
        }
    }

    /// Whether an exception names the block that an address is in.
    pub(crate) fn excepts(&self, address: IpAddr) -> bool {
        self.exceptions.iter().any(|exception| match exception {
            Exception::Block(block) => block.holds(address),
            Exception::Host(..) => false,
        })
    }
}

/// What a host plainly is, before anybody has looked it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbourhood {
    /// A public name or address.
    Public,
    /// This machine.
    ThisMachine,
    /// A private address, or a name that only a private network answers.
    Private,
}

/// Endings of names that no public name server knows.
const LOCAL_ENDINGS: [&str; 8] =
    ["local", "lan", "internal", "home", "home.arpa", "intranet", "corp", "localdomain"];

/// Says what a host plainly is. A public name may still lead to a private address: that is for
/// whoever looks it up to refuse.
pub fn neighbourhood(host: &str) -> Neighbourhood {
    let host = bare(host);
    if let Ok(address) = host.parse::<IpAddr>() {
        return match address.to_canonical() {
            address if address.is_loopback() => Neighbourhood::ThisMachine,
            address if is_public(address) => Neighbourhood::Public,
            _ => Neighbourhood::Private,
        };
    }
    if host == "localhost" || host.ends_with(".localhost") {
        return Neighbourhood::ThisMachine;
    }
    let is_local = !host.contains('.') || LOCAL_ENDINGS.iter().any(|end| is_below(&host, end));
    if is_local { Neighbourhood::Private } else { Neighbourhood::Public }
}

/// Whether a name belongs to a cloud's metadata service.
pub(crate) fn is_metadata_name(host: &str) -> bool {
    let host = bare(host);
    METADATA_NAMES.iter().any(|name| host == *name)
}

/// A host as it is compared: lower case, without brackets and the final dot.
fn bare(host: &str) -> String {
    let host = host.trim().trim_start_matches('[').trim_end_matches(']');
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn exception(entry: &str) -> Option<Exception> {
    let entry = entry.trim();
    if let Some(block) = Block::parse(entry) {
        return Some(Exception::Block(block));
    }
    if let Ok(address) = bare(entry).parse::<Ipv6Addr>() {
        return Some(Exception::Host(address.to_string(), None));
    }
    // The URL parser reads host and port as the client will read them.
    let Ok(url) = Url::parse(&format!("http://{entry}/")) else {
        tracing::warn!("`{entry}` in security.private_hosts is no host, host:port or block");
        return None;
    };
    let port = match url.port() {
        None if entry.ends_with(":80") => Some(80),
        port => port,
    };
    let plain = url.username().is_empty() && url.path() == "/" && url.query().is_none();
    let host = match url.host()? {
        Host::Domain(name) => name.to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    plain.then(|| Exception::Host(bare(&host), port))
}

fn blocked(settings: &Settings) -> Vec<BlockRule> {
    const KEY: &str = "security.website_blocklist";
    let list = match settings.get(KEY) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(map)) if map.get("enabled") == Some(&Value::Bool(false)) => {
            return Vec::new();
        }
        Some(Value::Object(map)) => map,
        Some(_) => {
            tracing::warn!("`{KEY}` is no map of enabled, domains and shared_files");
            return Vec::new();
        }
    };
    let texts = |name: &str| {
        let list = list.get(name).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let rule = |pattern: &str, source_name: &str| BlockRule {
        pattern: bare(pattern),
        source_name: source_name.to_owned(),
    };
    let mut rules: Vec<_> =
        texts("domains").iter().map(|domain| rule(domain, "config.yaml")).collect();
    for name in texts("shared_files") {
        let file = settings.home().join(Path::new(&name));
        match std::fs::read_to_string(&file) {
            Ok(text) => {
                let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
                let lines = lines.filter(|line| !line.is_empty());
                rules.extend(lines.map(|line| rule(line, &name)));
            }
            Err(error) => tracing::warn!(%error, "the block list `{name}` cannot be read"),
        }
    }
    rules
}

/// A rule names a host and everything below it; `*` stands for one label or, at the front, for any.
fn matches(pattern: &str, host: &str) -> bool {
    let pattern = pattern.strip_prefix("*.").unwrap_or(pattern);
    if !pattern.contains('*') {
        return is_below(host, pattern);
    }
    let wanted: Vec<&str> = pattern.split('.').rev().collect();
    let labels: Vec<&str> = host.split('.').rev().collect();
    labels.len() >= wanted.len()
        && wanted.iter().zip(&labels).all(|(want, label)| *want == "*" || want == label)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(security: &Value) -> SiteRules {
        let values = json!({ "security": security });
        SiteRules::from_settings(&Settings::from_values(values.as_object().unwrap().clone()))
    }

    #[test]
    fn an_exception_opens_exactly_its_entry() {
        let rules =
            rules(&json!({ "private_hosts": ["wiki.lan", "nas.lan:8080", "100.64.0.0/10"] }));
        let table = [
            ("wiki.lan", 80, Reach::Private),
            ("WIKI.lan.", 443, Reach::Private),
            ("a.wiki.lan", 80, Reach::PublicOnly),
            ("nas.lan", 8080, Reach::Private),
            ("nas.lan", 80, Reach::PublicOnly),
            ("other.lan", 80, Reach::PublicOnly),
        ];
        for (host, port, wanted) in table {
            assert_eq!(rules.reach(host, port), wanted, "{host}:{port}");
        }
        assert!(rules.excepts("100.64.1.1".parse().unwrap()));
        assert!(!rules.excepts("10.0.0.1".parse().unwrap()));
    }

    #[test]
    fn the_block_list_names_its_rule_and_where_it_stands() {
        let list = json!({ "domains": ["bad.example", "ads.*.example"] });
        let rules = rules(&json!({ "website_blocklist": list }));
        for host in ["bad.example", "a.bad.example", "BAD.example.", "ads.x.example"] {
            let error = rules.check_host(host).unwrap_err();
            assert_eq!(error.source_name, "config.yaml", "{host}");
        }
        for host in ["notbad.example", "example", "ads.example"] {
            assert_eq!(rules.check_host(host), Ok(()), "{host}");
        }
    }
}
