//! Which proxy a request goes through, decided from the snapshot and never from the process
//! environment.
//!
//! The usual variables are read (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, also in
//! lower case). This machine itself and the services that only it can see are always reached
//! directly.

use petasos_contract::Settings;
use url::{Host, Url};

use crate::block::Block;
use crate::origin::{Origin, is_below};

/// The proxies of one snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proxies {
    https: Option<Url>,
    http: Option<Url>,
    all: Option<Url>,
    direct: Vec<String>,
}

impl Proxies {
    /// Reads the proxy variables. One that is not a URL is passed over with a warning.
    pub fn from_settings(settings: &Settings) -> Self {
        let text = |name: &str| -> Option<String> {
            let lower = name.to_ascii_lowercase();
            let variable = settings.variable(&lower).or_else(|| settings.variable(name))?;
            let value = variable.value.expose().trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let proxy = |name: &str| text(name).and_then(|value| parse(name, &value));
        let direct = text("NO_PROXY").unwrap_or_default();
        Self {
            https: proxy("HTTPS_PROXY"),
            http: proxy("HTTP_PROXY"),
            all: proxy("ALL_PROXY"),
            direct: direct
                .split([',', ' '])
                .map(|rule| rule.trim().to_ascii_lowercase())
                .filter(|rule| !rule.is_empty())
                .collect(),
        }
    }

    /// The proxy for an address, or `None` for a direct connection.
    pub fn of(&self, url: &Url) -> Option<&Url> {
        let origin = Origin::of(url)?;
        if origin.is_loopback() || is_link_local(url) || self.is_direct(&origin, url) {
            return None;
        }
        let own = if origin.is_encrypted() { &self.https } else { &self.http };
        own.as_ref().or(self.all.as_ref())
    }

    /// The host names of the proxies themselves.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let proxies = [&self.https, &self.http, &self.all];
        proxies.iter().filter_map(|url| Some(url.as_ref()?.host_str()?.to_owned())).collect()
    }

    /// Whether there is any.
    pub(crate) fn is_empty(&self) -> bool {
        self.https.is_none() && self.http.is_none() && self.all.is_none()
    }

    fn is_direct(&self, origin: &Origin, url: &Url) -> bool {
        let host = origin.host();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default();
        self.direct.iter().any(|rule| {
            if rule == "*" {
                return true;
            }
            if let Some(block) = Block::parse(rule) {
                return host.parse().is_ok_and(|address| block.holds(address));
            }
            let (name, rule_port) = match rule.rsplit_once(':') {
                Some((name, digits)) if !name.contains(':') => (name, digits.parse::<u16>().ok()),
                _ => (rule.as_str(), None),
            };
            let name = name.trim_start_matches("*.").trim_start_matches('.');
            let port_fits = rule_port.is_none() || rule_port == port;
            port_fits && (host == name || (origin.domain().is_some() && is_below(host, name)))
        })
    }
}

/// Addresses that no router passes on: what answers there answers this machine alone.
fn is_link_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_link_local(),
        Some(Host::Ipv6(address)) => {
            matches!(address.segments(), [0xfd00, 0xec2, ..] | [0xfe80..=0xfebf, ..])
        }
        Some(Host::Domain(_)) | None => false,
    }
}

fn parse(name: &str, value: &str) -> Option<Url> {
    let spelled = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    match Url::parse(&spelled) {
        Ok(url) if url.host_str().is_some() => Some(url),
        // The value may hold a password, so only the variable is named.
        Ok(_) | Err(_) => {
            tracing::warn!("`{name}` is not the address of a proxy; connections go direct");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use petasos_contract::Secret;
    use petasos_contract::settings::{Parts, Source, Variable};

    use super::*;

    fn proxies(variables: &[(&str, &str)]) -> Proxies {
        let variable = |(name, value): &(&str, &str)| {
            let source = Source::Environment { variable: (*name).to_owned() };
            ((*name).to_owned(), Variable { value: Secret::new(*value), source })
        };
        let variables = variables.iter().map(variable).collect();
        Proxies::from_settings(&Settings::new(Parts { variables, ..Parts::default() }))
    }

    #[test]
    fn a_proxy_is_chosen_by_scheme_and_exceptions() {
        let set = proxies(&[
            ("HTTPS_PROXY", "http://proxy.test:3128"),
            ("http_proxy", "other.test:8080"),
            (
                "NO_PROXY",
                "internal.test, .corp.test,box.test:8443,10.0.0.0/8,fd12::/16,192.168.1.7/31",
            ),
        ]);
        let cases = [
            ("https://api.test/v1", Some("http://proxy.test:3128/")),
            ("http://api.test/v1", Some("http://other.test:8080/")),
            ("https://internal.test/", None),
            ("https://a.internal.test/", None),
            ("https://a.corp.test/", None),
            ("https://box.test:8443/", None),
            ("https://box.test/", Some("http://proxy.test:3128/")),
            ("http://127.0.0.1:11434/v1", None),
            ("http://10.1.2.3:8000/v1", None),
            ("http://11.1.2.3:8000/v1", Some("http://other.test:8080/")),
            ("https://[fd12:1::5]/v1", None),
            ("https://[fd13::5]/v1", Some("http://proxy.test:3128/")),
            ("https://192.168.1.6/v1", None),
            ("https://192.168.1.8/v1", Some("http://proxy.test:3128/")),
            ("http://[::1]:11434/v1", None),
        ];
        for (address, wanted) in cases {
            assert_eq!(set.of(&Url::parse(address).unwrap()).map(Url::as_str), wanted, "{address}");
        }
        assert!(proxies(&[]).is_empty());
    }
}
