//! What could be used: keys in variables, logins, pools, and servers on this machine.

use std::collections::BTreeSet;
use std::time::Duration;

use petasos_providers::credential::keep;
use petasos_providers::{Request, Vault, local, resolve};
use serde::Serialize;

use crate::host::Host;
use crate::report::Report;

/// How long a local server may take to show itself.
const PROBE: Duration = Duration::from_millis(500);

/// Logins of other programs are used only when a person chooses them.
const BORROWED: [&str; 3] = ["claude_code", "codex-cli", "qwen-cli"];

/// Something that could be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Candidate {
    /// The provider, as it is saved.
    pub(super) provider: String,
    /// Its address, when it is not the provider's own.
    pub(super) base_url: Option<String>,
    /// The model that would be used.
    pub(super) model: Option<String>,
    /// Where the key comes from, or that it is local.
    pub(super) source: String,
}

/// Everything: the configured one first, then keys and logins, then local servers.
pub(super) fn all(host: &Host) -> Result<Vec<Candidate>, Report> {
    let settings = host.settings();
    let view = Vault::of(settings).view(settings);
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    if settings.text("model.provider").is_some_and(|name| name != "auto")
        && let Ok(runtime) = resolve(&Request::default(), settings, &view).outcome
    {
        seen.insert(runtime.provider.clone());
        let own = settings.text("model.base_url").map(str::to_owned);
        found.push(Candidate {
            provider: settings.text("model.provider").unwrap_or_default().to_owned(),
            base_url: own,
            model: runtime.model,
            source: "configured".to_owned(),
        });
    }
    for line in keep::status(settings, &view) {
        let is_ready = matches!(line.state, "ready" | "renews_itself");
        let borrowed = BORROWED.contains(&line.source.as_str());
        if !is_ready || borrowed || seen.contains(&line.provider) {
            continue;
        }
        if let Ok(runtime) = resolve(&Request::of(&line.provider), settings, &view).outcome {
            seen.insert(line.provider.clone());
            let row = view.table.get(&line.provider);
            found.push(Candidate {
                provider: line.provider,
                base_url: None,
                // A saved model belongs to the saved provider.
                model: row.and_then(|row| row.default_model.clone()).or(runtime.model),
                source: line.source,
            });
        }
    }
    let net = host.net();
    for server in host.wait(local::probe(&net, settings, PROBE))? {
        let known = found.iter().any(|one| one.base_url.as_deref() == Some(&server.base_url));
        if seen.insert(server.name.clone()) && !known {
            found.push(Candidate {
                // A place that only a variable tells is saved with it.
                base_url: (local::usual_endpoint(&server.name) != Some(server.base_url.as_str()))
                    .then(|| server.base_url.clone()),
                provider: server.name,
                model: server.models.into_iter().next(),
                source: format!("local server at {}", server.base_url),
            });
        }
    }
    Ok(found)
}

/// A server at an address that the person named.
pub(super) fn server(host: &Host, url: &str) -> Result<Candidate, Report> {
    let net = host.net();
    let found = host.wait(local::probe_one(&net, "custom", url, PROBE * 10))?;
    let model = found.and_then(|server| server.models.into_iter().next());
    Ok(Candidate {
        provider: "custom".to_owned(),
        base_url: Some(url.to_owned()),
        model,
        source: "named on the command line".to_owned(),
    })
}

/// The address that somebody means by an answer: a URL, or what is one without its scheme.
pub(super) fn address(answer: &str) -> Option<String> {
    let answer = answer.trim();
    if answer.starts_with("http://") || answer.starts_with("https://") {
        return Some(answer.to_owned());
    }
    let place = answer.split('/').next().unwrap_or_default();
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse::<u16>().ok()?)),
        None => (place, None),
    };
    let bare = host.trim_matches(['[', ']']);
    let is_address = bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok();
    let is_host = !bare.is_empty()
        && bare.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '.' | '-'));
    if !(is_address || (is_host && port.is_some())) {
        return None;
    }
    let scheme = if port == Some(443) { "https" } else { "http" };
    Some(format!("{scheme}://{answer}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_needs_no_scheme() {
        for (answer, url) in [
            ("http://localhost:8000/v1", Some("http://localhost:8000/v1")),
            ("localhost:8000/v1", Some("http://localhost:8000/v1")),
            ("localhost", Some("http://localhost")),
            ("127.0.0.1:11434", Some("http://127.0.0.1:11434")),
            ("[::1]:8080/v1", Some("http://[::1]:8080/v1")),
            ("gpu.lan:8000", Some("http://gpu.lan:8000")),
            ("models.example.com:443/v1", Some("https://models.example.com:443/v1")),
            ("openai", None),
            ("login openai", None),
            ("sk-0123456789abcdef.0123", None),
            ("2", None),
        ] {
            assert_eq!(address(answer).as_deref(), url, "{answer}");
        }
    }
}
