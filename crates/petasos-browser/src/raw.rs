//! The bare protocol, for what no tool offers; what would take the browser away from us or past
//! the address rule is refused.

use std::time::Duration;

use petasos_net::Url;
use serde_json::{Map, Value};

use crate::error::BrowserError;
use crate::events::text;
use crate::navigate;
use crate::session::Session;

/// A call of the protocol.
#[derive(Debug, Clone, Default)]
pub struct RawAsk {
    /// The method.
    pub method: String,
    /// Its parameters.
    pub params: Map<String, Value>,
    /// The target; the active tab without.
    pub target_id: Option<String>,
    /// A frame in a process of its own.
    pub frame_id: Option<String>,
    /// Seconds.
    pub timeout: Option<f64>,
    /// Whether a private address may be opened by `Page.navigate`.
    pub opens_private: bool,
}

/// Methods that no call may use, and why.
const REFUSED: &[(&str, &str)] = &[
    ("Browser.close", "it would end the browser of every session"),
    ("Browser.crash", "it would end the browser of every session"),
    ("Browser.setDownloadBehavior", "downloads stay in the session's folder"),
    ("Page.setDownloadBehavior", "downloads stay in the session's folder"),
    ("Target.createBrowserContext", "a context without our proxy would pass the address rule"),
    ("Target.disposeBrowserContext", "sessions are closed by their end"),
    ("Target.attachToTarget", "targets are attached by the browser tools"),
    ("Target.attachToBrowserTarget", "targets are attached by the browser tools"),
    ("Target.exposeDevToolsProtocol", "it would hand the browser to the page"),
    ("Target.setAutoAttach", "targets are attached by the browser tools"),
    ("Network.setBypassServiceWorker", "it would change what the page loads unseen"),
    ("Tethering.", "it would open a port"),
    ("SystemInfo.", "it tells of this machine"),
    ("Storage.getCookies", "use the page's own session"),
];

/// Methods that a person should have agreed to.
const ASKED: &[&str] = &[
    "Network.getCookies",
    "Network.getAllCookies",
    "Network.setCookie",
    "Storage.",
    "DOMStorage.",
    "IndexedDB.",
    "CacheStorage.",
    "Fetch.",
    "Security.",
    "Browser.",
    "Target.create",
    "Target.setRemote",
    "Page.setBypassCSP",
    "IO.",
    "Page.addScriptToEvaluateOnNewDocument",
];

impl RawAsk {
    /// Whether a person must agree to the method first.
    pub fn is_asked(&self) -> bool {
        ASKED.iter().any(|prefix| self.method.starts_with(prefix))
    }

    pub(crate) fn opens(&self) -> bool {
        self.method == "Page.navigate"
    }
}

/// Sends it.
pub(crate) async fn send(
    session: &Session,
    ask: &RawAsk,
) -> Result<Map<String, Value>, BrowserError> {
    let method = ask.method.trim();
    if let Some((_, why)) = REFUSED.iter().find(|(prefix, _)| method.starts_with(prefix)) {
        return Err(BrowserError::new("blocked_policy", format!("{method} is refused: {why}")));
    }
    if method.starts_with("Page.navigate") || method == "Target.createTarget" {
        let url = ask.params.get("url").map(text).unwrap_or_default();
        check(session, url, ask.opens_private).await?;
    }
    let cdp = target(session, ask)?;
    let seconds = ask.timeout.filter(|s| s.is_finite()).unwrap_or(30.0).clamp(1.0, 300.0);
    let (params, wait) = (Value::Object(ask.params.clone()), Duration::from_secs_f64(seconds));
    let result = session.wire.call(Some(&cdp), method, params, wait).await?;
    let mut map = Map::new();
    map.insert("method".to_owned(), method.into());
    map.insert("result".to_owned(), result);
    for (key, value) in [("target_id", &ask.target_id), ("frame_id", &ask.frame_id)] {
        if let Some(value) = value {
            map.insert(key.to_owned(), value.clone().into());
        }
    }
    Ok(map)
}

async fn check(session: &Session, url: &str, opens_private: bool) -> Result<(), BrowserError> {
    if url == "about:blank" {
        return Ok(());
    }
    let refused = || {
        let text =
            format!("`{}` is not opened; use http or https", url.split(':').next().unwrap_or(""));
        BrowserError::new("blocked_address", text)
    };
    let url = Url::parse(url).map_err(|_| refused())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(refused());
    }
    navigate::permit(session, &url, opens_private).await
}

fn target(session: &Session, ask: &RawAsk) -> Result<String, BrowserError> {
    let mut state = session.state();
    let missing =
        |what: &str| BrowserError::new("not_found", format!("this session has no {what}"));
    if let Some(frame) = &ask.frame_id {
        let child = state.tabs.iter().find_map(|tab| tab.children.get(frame).cloned());
        return child.ok_or_else(|| missing("such frame in a process of its own"));
    }
    if let Some(target) = &ask.target_id {
        let tab = state.tabs.iter().find(|tab| tab.target == *target || tab.id == *target);
        return tab.map(|tab| tab.cdp.clone()).ok_or_else(|| missing("such target"));
    }
    state.active_tab().map(|tab| tab.cdp.clone()).ok_or_else(BrowserError::no_page)
}
