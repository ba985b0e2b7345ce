//! A browser that a service runs for us: made for one session, spoken to over the same protocol,
//! ended with it.

use std::time::Duration;

use petasos_contract::{Secret, Settings};
use petasos_net::{Credential, Method, Net, NetOptions, Origin, Request, Scheme, Scope, Url};
use serde_json::Value;

use crate::clouds::CLOUDS;
use crate::error::BrowserError;
use crate::options::BrowserSettings;

const FIRST_BYTE: Duration = Duration::from_mins(1);
const WHOLE: Duration = Duration::from_mins(1);
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A request to a service.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
}

/// A service that runs browsers: data, and pure functions.
#[derive(Debug)]
pub(crate) struct CloudDef {
    /// Its name in `browser.cloud_provider`.
    pub(crate) id: &'static str,
    pub(crate) keys: &'static [&'static str],
    /// The variable with another base address.
    pub(crate) base_variable: &'static str,
    pub(crate) base: &'static str,
    /// The header of the key; a bearer token without.
    pub(crate) header: Option<&'static str>,
    pub(crate) open: fn(&Settings) -> Ask,
    /// The session's name and the address of its protocol.
    pub(crate) opened: fn(&Value) -> Option<(String, String)>,
    pub(crate) close: fn(&str, &Settings) -> Ask,
    /// What opening one costs at least, in cents.
    pub(crate) cents: u32,
}

/// The list is not empty; checked when the program is built.
pub(crate) const fn some(all: &[&CloudDef]) {
    assert!(!all.is_empty(), "no cloud browser is listed");
}

/// The service that the settings name; an unknown name is an error and nothing else is asked.
pub(crate) fn chosen(own: &BrowserSettings) -> Result<Option<&'static CloudDef>, BrowserError> {
    let name = own.cloud_provider.as_deref().map(str::trim).unwrap_or_default();
    if name.is_empty() || name == "local" {
        return Ok(None);
    }
    let found = CLOUDS.iter().copied().find(|cloud| cloud.id == name.replace('_', "-"));
    let known: Vec<&str> = CLOUDS.iter().map(|cloud| cloud.id).collect();
    let unknown = || {
        let text = format!("browser.cloud_provider `{name}` is unknown; {}", known.join(", "));
        BrowserError::new("missing_setup", text)
    };
    found.map(Some).ok_or_else(unknown)
}

/// A browser that was made for us.
#[derive(Debug)]
pub(crate) struct CloudSession {
    cloud: &'static CloudDef,
    id: String,
    /// Where it is spoken to; it holds a token and is never shown.
    pub(crate) address: String,
}

impl CloudDef {
    fn base(&self, settings: &Settings) -> String {
        word(settings, self.base_variable).unwrap_or_else(|| self.base.to_owned())
    }

    /// The host that is asked.
    pub(crate) fn host(&self, settings: &Settings) -> Option<String> {
        Url::parse(&self.base(settings)).ok()?.host_str().map(str::to_owned)
    }

    fn key(&self, settings: &Settings) -> Option<Secret> {
        let set = self.keys.iter().filter_map(|name| settings.variable(name));
        set.map(|variable| variable.value.clone()).find(|key| !key.expose().trim().is_empty())
    }

    /// Makes a browser.
    pub(crate) async fn start(
        &'static self,
        settings: &Settings,
    ) -> Result<CloudSession, BrowserError> {
        let answer = self.ask((self.open)(settings), settings).await?;
        let made = (self.opened)(&answer).ok_or_else(|| {
            BrowserError::new("upstream", format!("{} named no browser in its answer", self.id))
        })?;
        Ok(CloudSession { cloud: self, id: made.0, address: made.1 })
    }

    async fn ask(&self, ask: Ask, settings: &Settings) -> Result<Value, BrowserError> {
        let missing = |what: String| BrowserError::new("missing_setup", what);
        let key = self.key(settings).ok_or_else(|| {
            missing(format!("{} needs {}", self.id, self.keys.join(" or ")))
                .with("missing", self.keys.iter().map(|key| Value::from(*key)).collect::<Vec<_>>())
        })?;
        let url = format!("{}{}", self.base(settings).trim_end_matches('/'), ask.path);
        let url = Url::parse(&url).map_err(|error| missing(format!("{}: {error}", self.id)))?;
        let origin =
            Origin::of(&url).ok_or_else(|| missing(format!("{}: no http address", self.id)))?;
        let credential = Credential {
            owner: self.id.to_owned(),
            secret: key,
            scope: Scope::exactly(origin),
            scheme: self.header.map_or(Scheme::Bearer, Scheme::Header),
        };
        let failed = |what: String| BrowserError::new("upstream", format!("{}: {what}", self.id));
        let mut request = Request::new(ask.method, url).first_byte(FIRST_BYTE);
        request = request.credential(Some(credential));
        if let Some(body) = ask.body {
            let typed = request.header("content-type", "application/json");
            request = typed.map_err(|error| failed(error.to_string()))?.body(body.to_string());
        }
        let net = Net::new(NetOptions::from_settings(settings));
        let reply = net.send(request).await.map_err(|error| {
            BrowserError::new(error.error_type(), format!("{}: {error}", self.id))
        })?;
        let status = reply.status;
        let body = reply.bytes(ANSWER_BYTES_MAX, WHOLE).await;
        let body = body.map_err(|error| failed(error.to_string()))?;
        match status {
            200..=299 => Ok(serde_json::from_slice(&body).unwrap_or_default()),
            _ => Err(self.refused(status, &String::from_utf8_lossy(&body))),
        }
    }

    fn refused(&self, status: u16, body: &str) -> BrowserError {
        let (kind, why) = match status {
            401 | 403 => ("auth", "refused the key; check it"),
            402 => ("quota", "has no credit left"),
            429 => ("rate_limited", "asks for fewer requests"),
            _ => ("upstream", "failed"),
        };
        let detail: String = body.chars().filter(|c| !c.is_control()).take(300).collect();
        BrowserError::new(kind, format!("{} {why} ({status})", self.id))
            .with("status", status)
            .with("detail", detail)
    }
}

impl CloudSession {
    /// Ends it, so that nobody pays for it any longer. It ends by itself when that fails.
    pub(crate) async fn end(&self, settings: &Settings) {
        let ask = (self.cloud.close)(&self.id, settings);
        if let Err(error) = self.cloud.ask(ask, settings).await {
            tracing::warn!(%error, "a cloud browser was not ended; its time limit ends it");
        }
    }
}

/// A variable with words in it.
pub(crate) fn word(settings: &Settings, name: &str) -> Option<String> {
    let set = settings.variable(name)?.value.expose().trim().to_owned();
    (!set.is_empty()).then_some(set)
}

/// A variable that is a number.
pub(crate) fn number(settings: &Settings, name: &str) -> Option<u64> {
    word(settings, name)?.parse().ok()
}

/// A variable that is yes or no.
pub(crate) fn flag(settings: &Settings, name: &str) -> Option<bool> {
    match word(settings, name)?.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    }
}
