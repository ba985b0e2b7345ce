//! Reading a page through somebody else, and who reads: ourselves, unless another was named.

use petasos_contract::{CallContext, Settings};
use petasos_net::checked_url;
use petasos_net::sites::{Neighbourhood, neighbourhood};
use serde_json::Value;

use crate::fault::WebError;
use crate::providers::PROVIDERS;
use crate::readers::READERS;
use crate::service::{Outgoing, Service};

/// A service that reads pages: data, and two pure functions.
#[derive(Debug)]
pub struct ReaderDef {
    /// Where it is and what it needs.
    pub service: Service,
    /// Its place among those with a key: lower comes first.
    pub rank: u8,
    /// What is sent for one address.
    pub outgoing: fn(&str) -> Outgoing,
    /// The page in an answer.
    pub page: fn(&Value, &str) -> Result<Page, WebError>,
}

/// The list is not empty; checked when the program is built.
pub(crate) const fn unique(all: &[&ReaderDef]) {
    assert!(!all.is_empty(), "no reader is listed");
}

/// A page as a service gave it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub(crate) text: String,
    pub(crate) title: Option<String>,
    pub(crate) byline: Option<String>,
    pub(crate) published: Option<String>,
    pub(crate) lang: Option<String>,
    pub(crate) final_url: Option<String>,
}

impl Page {
    pub(crate) fn of(text: Option<String>, by: &str) -> Result<Self, WebError> {
        match text.filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(Self { text, ..Self::default() }),
            None => Err(WebError::new("no_result", format!("{by} found no text on the page"))),
        }
    }
}

/// The service could not read the page.
pub(crate) fn failed(by: &str, why: &str) -> WebError {
    let why: String = why.chars().take(200).collect();
    WebError::new("upstream", format!("{by} could not read the page: {why}"))
}

/// Who reads, and what was looked at on the way.
#[derive(Debug)]
pub struct ReaderChoice {
    /// `None`: we do.
    pub chosen: Result<Option<&'static ReaderDef>, String>,
    /// What was looked at on the way.
    pub trace: Vec<String>,
}

/// Chooses, from the snapshot alone.
pub fn choose(settings: &Settings) -> ReaderChoice {
    let mut trace = Vec::new();
    for key in ["web.extract_backend", "web.backend"] {
        let Some(name) = settings.text(key).map(str::trim).filter(|name| !name.is_empty()) else {
            continue;
        };
        trace.push(format!("{key} names `{name}`"));
        if name == "native" {
            return ReaderChoice { chosen: Ok(None), trace };
        }
        let found = READERS.iter().find(|reader| reader.service.is_named(name));
        let chosen = match found {
            Some(reader) => match reader.service.missing(settings) {
                None => Ok(Some(*reader)),
                Some(why) => Err(format!("{key} names `{name}`, but {why}")),
            },
            None if PROVIDERS.iter().any(|it| it.service.is_named(name))
                && key == "web.backend" =>
            {
                trace.push(format!("`{name}` only searches"));
                continue;
            }
            None => Err(format!(
                "{key} names `{name}`, which does not read pages; name native, tavily, exa, parallel or firecrawl"
            )),
        };
        return ReaderChoice { chosen, trace };
    }
    trace.push("pages are read by ourselves".to_owned());
    ReaderChoice { chosen: Ok(None), trace }
}

/// A service with a key for what we could not read ourselves.
pub(crate) fn second(settings: &Settings) -> Option<&'static ReaderDef> {
    let able = READERS.iter().copied().filter(|it| it.service.missing(settings).is_none());
    able.min_by_key(|reader| reader.rank)
}

/// Reads one page through a service; where the page came from is checked again.
pub(crate) async fn read(
    reader: &ReaderDef,
    url: &str,
    cx: &CallContext,
) -> Result<Page, WebError> {
    let host = checked_url(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    refuse_private(host.as_deref())?;
    let body = reader.service.ask((reader.outgoing)(url), cx).await?;
    let answer: Value = serde_json::from_str(&body).map_err(|error| {
        WebError::new("upstream", format!("{} gave no usable answer: {error}", reader.service.id))
    })?;
    let page = (reader.page)(&answer, url)?;
    let led = page.final_url.as_deref().and_then(|led| checked_url(led).ok());
    refuse_private(led.as_ref().and_then(|led| led.host_str()))?;
    Ok(page)
}

fn refuse_private(host: Option<&str>) -> Result<(), WebError> {
    match host.filter(|host| neighbourhood(host) != Neighbourhood::Public) {
        Some(host) => {
            let text = format!("{host} is no public address; a service is not sent there");
            Err(WebError::new("blocked_address", text))
        }
        None => Ok(()),
    }
}
