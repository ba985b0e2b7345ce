//! A service of somebody else: where it is, how it knows who asks, and one request to it.

use std::time::Duration;

use petasos_contract::{CallContext, Secret, Settings};
use petasos_net::{
    Allowed, Credential, Method, Origin, Reach, Request, Scheme, Scope, Url, checked_url,
};
use serde_json::Value;

use crate::fault::WebError;
use crate::fetch;
use crate::rows::plain;

const FIRST_BYTE: Duration = Duration::from_secs(30);
const WHOLE: Duration = Duration::from_mins(1);
const ANSWER_BYTES_MAX: usize = 5 << 20;
const DETAIL_CHARS: usize = 300;

/// What goes to a service, below its base address.
#[derive(Debug)]
pub struct Outgoing {
    /// The path, perhaps with a query.
    pub path: String,
    /// The body of a POST; a GET without.
    pub body: Option<Value>,
}

impl Outgoing {
    /// A POST.
    pub(crate) fn post(path: &str, body: Value) -> Self {
        Self { path: path.to_owned(), body: Some(body) }
    }
}

/// How a service knows who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// Nobody.
    None,
    /// `Authorization: Bearer …`.
    Bearer,
    /// A header of its own.
    Named(&'static str),
}

/// Where a service is and what it needs: data.
#[derive(Debug)]
pub struct Service {
    /// Its name in settings and results.
    pub id: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Variables with its key, the first that is set counts.
    pub keys: &'static [&'static str],
    /// The variable with another base address.
    pub base_variable: Option<&'static str>,
    /// Its base address; empty when only the variable names one.
    pub base: &'static str,
    /// How the key travels.
    pub key_header: KeyHeader,
    /// What a status means beyond the usual.
    pub status: fn(u16) -> Option<(&'static str, &'static str)>,
}

impl Service {
    /// The common case.
    pub const USUAL: Self = Self {
        id: "",
        aliases: &[],
        keys: &[],
        base_variable: None,
        base: "",
        key_header: KeyHeader::Bearer,
        status: |_| None,
    };

    fn key(&self, settings: &Settings) -> Option<Secret> {
        let set = self.keys.iter().filter_map(|name| settings.variable(name));
        set.map(|variable| variable.value.clone()).find(|value| !value.expose().trim().is_empty())
    }

    fn base(&self, settings: &Settings) -> Option<String> {
        let endpoint = settings.text(&format!("web.endpoints.{}", self.id)).map(str::to_owned);
        let variable = self.base_variable.and_then(|name| settings.variable(name));
        let variable = variable.map(|variable| variable.value.expose().trim().to_owned());
        let given = endpoint.or(variable).filter(|base| !base.is_empty());
        given.or_else(|| (!self.base.is_empty()).then(|| self.base.to_owned()))
    }

    /// The host that a question goes to.
    pub fn host(&self, settings: &Settings) -> Option<String> {
        let url = Url::parse(&self.base(settings)?).ok()?;
        url.host_str().map(str::to_owned)
    }

    /// Why it cannot be asked, if so.
    pub fn missing(&self, settings: &Settings) -> Option<String> {
        if self.base(settings).is_none() {
            let variable = self.base_variable.unwrap_or("an address");
            return Some(format!("{} needs {variable}", self.id));
        }
        let needs_key = self.key_header != KeyHeader::None;
        let names = self.keys.join(" or ");
        (needs_key && self.key(settings).is_none()).then(|| format!("{} needs {names}", self.id))
    }

    /// Whether the settings mean it by this name.
    pub fn is_named(&self, name: &str) -> bool {
        self.id == name || self.aliases.contains(&name)
    }

    /// Asks it; the body of a good answer.
    pub(crate) async fn ask(
        &self,
        outgoing: Outgoing,
        cx: &CallContext,
    ) -> Result<String, WebError> {
        let missing = |why: String| WebError::new("missing_setup", why);
        if let Some(why) = self.missing(&cx.settings) {
            return Err(missing(why));
        }
        let base = self.base(&cx.settings).unwrap_or_default();
        let address = format!("{}{}", base.trim_end_matches('/'), outgoing.path);
        let url =
            checked_url(&address).map_err(|error| missing(format!("{}: {error}", self.id)))?;
        let origin =
            Origin::of(&url).ok_or_else(|| missing(format!("{}: no http address", self.id)))?;
        let method = if outgoing.body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::new(method, url).first_byte(FIRST_BYTE);
        request = request.credential(self.credential(&cx.settings, origin));
        // The user chose the host: it may be in their own network.
        request.reach = Reach::Anywhere;
        request = request.header("accept", "application/json, text/html;q=0.5")?;
        if let Some(body) = outgoing.body {
            request = request.header("content-type", "application/json")?.body(body.to_string());
        }
        let reply = fetch::net(&cx.settings).send(request).await?;
        let after = reply.headers.get("retry-after").and_then(|after| after.to_str().ok());
        let after = after.and_then(|after| after.parse::<u64>().ok());
        let status = reply.status;
        let body = reply.bytes(ANSWER_BYTES_MAX, WHOLE).await?;
        let body = String::from_utf8_lossy(&body).into_owned();
        self.failure(status, &body, after)?;
        Ok(body)
    }

    fn credential(&self, settings: &Settings, origin: Origin) -> Option<Credential> {
        let scheme = match self.key_header {
            KeyHeader::None => return None,
            KeyHeader::Named(name) => Scheme::Header(name),
            KeyHeader::Bearer => Scheme::Bearer,
        };
        let secret = self.key(settings)?;
        Some(Credential { owner: self.id.to_owned(), secret, scope: self.scope(origin), scheme })
    }

    /// The key goes to the service's own host, or to the one that the user wrote down.
    fn scope(&self, origin: Origin) -> Scope {
        let own = Url::parse(self.base).ok().and_then(|url| url.host_str().map(str::to_owned));
        match own {
            Some(host) if origin.domain() == Some(host.as_str()) => {
                Scope::new([Allowed::Host(host)])
            }
            Some(_) | None => Scope::exactly(origin),
        }
    }

    fn failure(&self, status: u16, body: &str, after: Option<u64>) -> Result<(), WebError> {
        let own = (self.status)(status);
        if (200..300).contains(&status) && own.is_none() {
            return Ok(());
        }
        let (kind, why) = own.unwrap_or(match status {
            401 | 403 => ("auth", "refused the key; check it"),
            402 => ("quota", "has no credit left"),
            429 => ("rate_limited", "asks for fewer requests"),
            _ => ("upstream", "failed"),
        });
        let text = format!("{} {why} ({status})", self.id);
        let mut error = WebError::new(kind, text).with("status", status);
        let detail = plain(body, DETAIL_CHARS);
        if !detail.is_empty() {
            error = error.with("detail", detail);
        }
        if let Some(seconds) = after.filter(|_| kind == "rate_limited") {
            error = error.with("retry_after_s", seconds);
        }
        Err(error)
    }
}
