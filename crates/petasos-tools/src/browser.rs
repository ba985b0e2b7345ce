//! What the browser tools share: the engine, when they are offered, and the shape of an answer.

use std::sync::Arc;

use petasos_browser::{BrowserError, BrowserSettings, Browsers};
use petasos_contract::check::{Availability, CheckDef, CheckScope};
use petasos_contract::effect::{Effect, Effects};
use petasos_contract::ports::Ports;
use petasos_contract::{CallContext, Settings, ToolOutput};
use petasos_net::sites::{Neighbourhood, neighbourhood};
use petasos_net::{Url, checked_url};
use petasos_redact::Redactor;
use serde_json::{Map, Value};

const NEEDS: &str = "needs a browser: install chromium or google-chrome, or set browser.cdp_url";
const NEEDS_RAW: &str = "needs browser.cdp_url or browser.raw_cdp: true";

/// A browser is installed or named. Looks at the disk and starts nothing.
pub(crate) static BROWSER: CheckDef = CheckDef {
    id: "browser",
    scope: CheckScope::Profile,
    probe: |cx| Box::pin(async move { available(&cx.settings) }),
};

/// The bare protocol is offered.
pub(crate) static RAW: CheckDef = CheckDef {
    id: "browser_cdp",
    scope: CheckScope::Profile,
    probe: |cx| {
        Box::pin(async move {
            let own: BrowserSettings = cx.settings.section().unwrap_or_default();
            match available(&cx.settings) {
                Availability::Ready => Availability::when(own.offers_raw(), NEEDS_RAW),
                missing @ Availability::Missing(_) => missing,
            }
        })
    },
};

fn available(settings: &Settings) -> Availability {
    let own: BrowserSettings = settings.section().unwrap_or_default();
    let named = own.attaches() || settings.variable("BROWSER_CDP_URL").is_some();
    Availability::when(named || petasos_browser::find(settings).is_some(), NEEDS)
}

/// The browsers of the program, as a tool holds them.
pub(crate) struct Engine(Option<Arc<Browsers>>);

impl Engine {
    pub(crate) fn of(ports: &Ports) -> Self {
        Self(Browsers::of(ports))
    }

    pub(crate) fn get(&self) -> Result<&Arc<Browsers>, BrowserError> {
        self.0.as_ref().ok_or_else(|| BrowserError::new("missing_setup", NEEDS))
    }

    /// What an action on the open page reaches.
    pub(crate) fn page(&self, cx: &CallContext) -> Effects {
        let host = self.0.as_ref().and_then(|browsers| browsers.page_host(cx));
        host.map_or(Effects::none(), |host| Effects::one(Effect::Reach(host)))
    }

    /// The kind of field that a reference names.
    pub(crate) fn input_type(&self, cx: &CallContext, reference: &str) -> String {
        let kind = self.0.as_ref().and_then(|browsers| browsers.input_type(cx, reference));
        kind.unwrap_or_default()
    }
}

/// The result of a tool: the answer or the error, with secrets masked.
pub(crate) fn told(
    answer: Result<Map<String, Value>, BrowserError>,
    cx: &CallContext,
) -> ToolOutput {
    let mut object = Map::new();
    object.insert("success".to_owned(), answer.is_ok().into());
    match answer {
        Ok(answer) => object.extend(answer),
        Err(error) => {
            object.insert("error".to_owned(), error.message.into());
            object.insert("error_type".to_owned(), error.kind.into());
            object.extend(error.extra);
        }
    }
    let mut value = Value::Object(object);
    Redactor::of(&cx.settings).value(&mut value);
    ToolOutput::json(&value)
}

/// What opening an address reaches, for the policy.
pub(crate) fn reach(url: &str) -> Effects {
    let Some((host, port)) = place(url) else { return Effects::none() };
    Effects::one(match neighbourhood(&host) {
        Neighbourhood::Public | Neighbourhood::ThisMachine => Effect::Reach(host),
        Neighbourhood::Private => Effect::ReachPrivate(format!("{host}:{port}")),
    })
}

/// Whether this call may open a private address: a person is there, and the policy has seen what
/// the address plainly is. A public name that leads to a private address is neither.
pub(crate) fn opens_private(url: &str, cx: &CallContext) -> bool {
    let plainly = place(url).is_some_and(|(host, _)| neighbourhood(&host) != Neighbourhood::Public);
    plainly && cx.attended
}

fn place(url: &str) -> Option<(String, u16)> {
    let url = checked_url(url).or_else(|_| checked_url(&format!("https://{url}"))).ok()?;
    spelled(&url)
}

fn spelled(url: &Url) -> Option<(String, u16)> {
    Some((url.host_str()?.to_owned(), url.port_or_known_default()?))
}
