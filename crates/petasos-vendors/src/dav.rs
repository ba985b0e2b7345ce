//! Calendars and address books: CalDAV and CardDAV on one account, in the section `dav`.

mod calendar;
mod cards;
pub mod lines;
pub mod when;
mod xml;

use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use petasos_contract::settings::Section;
use petasos_contract::{Secret, Settings};
use petasos_net::{Method, Origin, Scheme, checked_url};
use serde::Deserialize;

pub use self::calendar::{Change, Span};
use self::xml::Found;
use crate::fault::VendorError;
use crate::service::{Answer, Sent, Service, variable};

/// What is said when there is no account.
pub const NEEDS: &str = "needs a CalDAV account: set dav.url, dav.user and DAV_PASSWORD";

/// The section `dav`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Account {
    url: Option<String>,
    user: Option<String>,
}

impl Section for Account {
    const NAME: &'static str = "dav";
}

/// An account that can be asked.
#[derive(Debug)]
pub struct Dav {
    service: Service,
    start: String,
}

/// A calendar or an address book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collection {
    pub(crate) href: String,
    pub(crate) name: String,
}

/// Whether an account is configured.
pub fn is_set_up(settings: &Settings) -> bool {
    Dav::open(settings).is_ok()
}

/// The host that questions go to.
pub fn host(settings: &Settings) -> Option<String> {
    Dav::open(settings).ok().map(|dav| dav.service.host().to_owned())
}

impl Dav {
    /// The account of a snapshot.
    pub fn open(settings: &Settings) -> Result<Self, VendorError> {
        let unusable = |why: String| VendorError::new("missing_setup", why);
        let account: Account = settings.section().map_err(|error| unusable(error.to_string()))?;
        let password = variable(settings, "DAV_PASSWORD");
        let (Some(url), Some(user), Some(password)) = (&account.url, &account.user, &password)
        else {
            let missing: Vec<&str> = [
                ("dav.url", account.url.is_none()),
                ("dav.user", account.user.is_none()),
                ("DAV_PASSWORD", password.is_none()),
            ]
            .iter()
            .filter_map(|(name, is_missing)| is_missing.then_some(*name))
            .collect();
            return Err(VendorError::setup(NEEDS, &missing));
        };
        let url = checked_url(url).map_err(|why| unusable(format!("dav.url: {why}")))?;
        let origin =
            Origin::of(&url).ok_or_else(|| unusable("dav.url is no http address".to_owned()))?;
        if !origin.is_encrypted() && !origin.is_loopback() {
            return Err(unusable(
                "dav.url begins with `http:`; a password needs `https:`".to_owned(),
            ));
        }
        let secret = format!("{user}:{}", password.expose());
        let secret = base64::engine::general_purpose::STANDARD.encode(secret);
        let mut service = Service::new("the calendar server", &origin.to_string(), settings)?
            .with_key(Secret::new(format!("Basic {secret}")), Scheme::Header("authorization"));
        service.within = Duration::from_secs(30);
        Ok(Self { service, start: url.path().to_owned() })
    }

    async fn ask(&self, method: &str, path: &str, sent: Sent) -> Result<Answer, VendorError> {
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| VendorError::new("unsupported", "no such method"))?;
        let answer = self.service.ask(method, path, sent).await?;
        match answer.status {
            401 => Err(VendorError::new(
                "auth",
                "the calendar server refuses dav.user or DAV_PASSWORD; check both",
            )
            .with("status", 401)),
            _ => Ok(answer),
        }
    }

    /// A question whose answer is a list of things with their properties.
    async fn listed(
        &self,
        method: &str,
        path: &str,
        depth: &str,
        body: String,
    ) -> Result<Vec<Found>, VendorError> {
        let sent = Sent {
            body: Some(("application/xml; charset=utf-8", Bytes::from(body))),
            headers: vec![("depth", depth.to_owned())],
        };
        let answer = self.ask(method, path, sent).await?;
        if answer.status != 207 {
            return Err(self.service.failure(&answer));
        }
        let found = xml::read(&String::from_utf8_lossy(&answer.body));
        found.map_err(|why| {
            VendorError::new(
                "upstream",
                format!("the calendar server's answer makes no sense: {why}"),
            )
        })
    }

    /// A path on this server that it named itself.
    fn path(&self, href: &str) -> Result<String, VendorError> {
        let href = href.trim();
        let elsewhere = || VendorError::new("upstream", "the calendar server leads elsewhere");
        let path = if href.contains("://") {
            let url = checked_url(href).map_err(|_| elsewhere())?;
            let own = self.service.url("/").ok().and_then(|own| Origin::of(&own));
            if Origin::of(&url) != own {
                return Err(elsewhere());
            }
            url.path().to_owned()
        } else {
            href.to_owned()
        };
        let plain = path.starts_with('/') && !path.contains(['?', '#']) && !path.contains("/../");
        plain.then_some(path).ok_or_else(elsewhere)
    }

    /// The collections of one kind, found from the account's own address on.
    async fn collections(&self, home: &str, kind: &str) -> Result<Vec<Collection>, VendorError> {
        let principal = self.property(&self.start, "current-user-principal", "DAV:").await?;
        let principal = principal.unwrap_or_else(|| self.start.clone());
        let space = if kind == "calendar" { CALDAV } else { CARDDAV };
        let home = self.property(&principal, home, space).await?.unwrap_or(principal);
        let body = "<D:propfind xmlns:D=\"DAV:\"><D:prop><D:resourcetype/><D:displayname/></D:prop></D:propfind>";
        let found = self.listed("PROPFIND", &home, "1", body.to_owned()).await?;
        let mut all = Vec::new();
        for it in found.iter().filter(|it| it.kinds.iter().any(|known| known == kind)) {
            let href = self.path(&it.href)?;
            let last = href.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let name = it.text("displayname").filter(|name| !name.is_empty());
            all.push(Collection { name: name.unwrap_or(last).to_owned(), href: href.clone() });
        }
        Ok(all)
    }

    /// The address that a property of a place holds.
    async fn property(
        &self,
        path: &str,
        name: &str,
        space: &str,
    ) -> Result<Option<String>, VendorError> {
        let body = format!(
            "<D:propfind xmlns:D=\"DAV:\" xmlns:X=\"{space}\"><D:prop><X:{name}/></D:prop></D:propfind>"
        );
        let found = self.listed("PROPFIND", path, "0", body).await?;
        let text = found.first().and_then(|it| it.text(name)).map(str::trim);
        text.filter(|text| !text.is_empty()).map(|text| self.path(text)).transpose()
    }
}

pub(crate) const CALDAV: &str = "urn:ietf:params:xml:ns:caldav";
pub(crate) const CARDDAV: &str = "urn:ietf:params:xml:ns:carddav";
